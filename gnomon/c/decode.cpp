// Decoding with a key cache.
#include "gnomon/c/handles.h"
#include "gnomon/core/check.h"

using namespace gnomon;
using c::call;
using c::need;

gnomon_status gnomon_cache_create(const gnomon_attention* attention, int64_t B, int64_t capacity,
                                  int64_t window, gnomon_cache** cache) {
  return call([&] {
    const Attention& a = *need("attention", attention).attention;
    need("cache", cache);
    *cache = new gnomon_cache{a.cache(B, capacity, window)};
  });
}
void gnomon_cache_free(gnomon_cache* cache) { delete cache; }

gnomon_status gnomon_cache_length(const gnomon_cache* cache, int64_t b, int64_t* length) {
  return call([&] { need("length", length) = need("cache", cache).keys.length(b); });
}
gnomon_status gnomon_cache_keys(const gnomon_cache* cache, int64_t* keys) {
  return call([&] { need("keys", keys) = need("cache", cache).keys.keys(); });
}
gnomon_status gnomon_cache_position(const gnomon_cache* cache, int64_t b, int64_t j, double* position) {
  return call([&] { need("position", position) = need("cache", cache).keys.position(b, j); });
}

gnomon_status gnomon_decode(const gnomon_attention* attention, const gnomon_attention_input* in,
                            gnomon_cache* cache, const gnomon_view* out) {
  return call([&] {
    const Attention& a = *need("attention", attention).attention;
    const c::Input input(in);
    a.decode(input.in, need("cache", cache).keys, c::view_of("out", need("out", out)));
  });
}
