/* Decoding from C: a prompt at once, then token by token with a key cache, compared with attending everything at once.
 *
 *   cc -std=c99 decode.c $(pkg-config --cflags --libs gnomon-core) -o decode && ./decode
 *
 * Prints the largest difference, and ends with 1 where it is above 1e-5, or where tokens at wrong places give the same. */
#include <gnomon.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 8, KV_HEADS = 2, SIZE = 64, PROMPT = 32, TOKENS = 48 };

static void check(gnomon_status status) {
  if (status == GNOMON_OK) return;
  fprintf(stderr, "%s: %s\n", gnomon_status_name(status), gnomon_last_error());
  exit(2);
}

/* Numbers between -1 and 1 in place of what a layer projects. */
static float number(void) {
  static uint32_t state = 1;
  state = state * 1664525u + 1013904223u;
  return (float)(state >> 8) / (float)(1 << 23) - 1.0f;
}

/* Rows (tokens, heads, SIZE) of one sequence. */
static float* rows_of(int heads) {
  const size_t n = (size_t)heads * TOKENS * SIZE;
  float* rows = malloc(n * sizeof *rows);
  if (!rows) exit(2);
  for (size_t i = 0; i < n; ++i) rows[i] = number();
  return rows;
}

/* Tokens from..from+n of such rows. */
static gnomon_view some(const float* rows, int heads, int from, int n) {
  const int64_t extents[4] = {1, heads, n, SIZE};
  return gnomon_tokens_first(rows + (size_t)from * heads * SIZE, GNOMON_FLOAT32, extents);
}

typedef struct layer {
  gnomon_attention* attention;
  float *q, *k, *v;
} layer;

static gnomon_attention_input input_of(const layer* l, int from, int n) {
  gnomon_attention_input in = GNOMON_ATTENTION_INPUT_INIT;
  in.q = some(l->q, HEADS, from, n);
  in.k = some(l->k, KV_HEADS, from, n);
  in.v = some(l->v, KV_HEADS, from, n);
  return in;
}

/* Prefill, then one token after the other; the generated ones stand `late` places later than they should. */
static void decode(const layer* l, double late, float* out) {
  gnomon_cache* cache = NULL;
  check(gnomon_cache_create(l->attention, 1, TOKENS, 0, &cache));
  for (int t = 0, n = PROMPT; t < TOKENS; t += n, n = 1) {
    gnomon_attention_input in = input_of(l, t, n);
    gnomon_places places = GNOMON_PLACES_INIT;
    const double position = t + late;
    if (t >= PROMPT) { /* without places, tokens follow the cached ones */
      places.positions = &position;
      places.tokens = n;
      in.places = &places;
    }
    const gnomon_view to = some(out, HEADS, t, n);
    check(gnomon_decode(l->attention, &in, cache, &to));
  }
  gnomon_cache_free(cache);
}

static float difference(const float* a, const float* b) {
  float most = 0;
  for (size_t i = 0; i < (size_t)TOKENS * HEADS * SIZE; ++i) {
    const float d = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    if (!(d <= most)) most = d; /* NaN is no agreement */
  }
  return most;
}

int main(void) {
  gnomon_attention_config config = GNOMON_ATTENTION_CONFIG_INIT;
  config.heads = HEADS;
  config.kv_heads = KV_HEADS;
  config.head_dim = SIZE;
  layer l = {NULL, rows_of(HEADS), rows_of(KV_HEADS), rows_of(KV_HEADS)};
  check(gnomon_attention_create("rope(pairing=halves)", &config, &l.attention));

  float *whole = rows_of(HEADS), *decoded = rows_of(HEADS), *misplaced = rows_of(HEADS);
  const gnomon_attention_input in = input_of(&l, 0, TOKENS);
  const gnomon_view out = some(whole, HEADS, 0, TOKENS);
  check(gnomon_forward(l.attention, &in, &out, NULL));
  decode(&l, 0, decoded);
  decode(&l, 1, misplaced);
  const float right = difference(whole, decoded), wrong = difference(whole, misplaced);
  printf("largest difference: %.1e, with tokens one place too late: %.1e\n", right, wrong);

  free(misplaced), free(decoded), free(whole);
  free(l.v), free(l.k), free(l.q);
  gnomon_attention_free(l.attention);
  return right <= 1e-5f && wrong > 1e-3f ? 0 : 1;
}
