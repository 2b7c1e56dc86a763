// What position does alone: rows, tables and words.
#include "gnomon/nn/alone.h"

#include "gnomon/c/handles.h"
#include "gnomon/core/error.h"
#include "gnomon/nn/attention_inside.h"

using namespace gnomon;
using c::call;
using c::known;
using c::need;

namespace {

// A scene with what it refers to.
struct Scenery {
  Scenery(const gnomon_attention* attention, const gnomon_scene* scene)
      : given(known("scene", scene)),
        places(c::placement_of(need("places", given.places))),
        alone{*need("attention", attention).attention, places,
              c::parameters_of(given.parameters, given.parameter_count)} {}
  Scenery(const Scenery&) = delete;
  const gnomon_scene given;
  const Placement places;
  const Alone alone;
};

Role role_of(int role) {
  if (role == GNOMON_Q || role == GNOMON_K || role == GNOMON_V || role == GNOMON_OUT) return Role(role);
  throw Error(Fault::usage,
              text("role is ", role, "; allowed are GNOMON_Q, GNOMON_K, GNOMON_V and GNOMON_OUT"));
}

}  // namespace

gnomon_status gnomon_added_channels(const gnomon_attention* attention, gnomon_role role, int64_t* channels) {
  return call([&] {
    need("channels", channels);
    *channels = added_channels(*need("attention", attention).attention, role_of(role));
  });
}

gnomon_status gnomon_rotate(const gnomon_attention* attention, const gnomon_scene* scene, gnomon_role role,
                            const gnomon_view* rows) {
  return call([&] {
    const Scenery at(attention, scene);
    map_rows(at.alone, role_of(role), c::view_of("rows", need("rows", rows)));
  });
}

gnomon_status gnomon_rotate_backward(const gnomon_attention* attention, const gnomon_scene* scene,
                                     gnomon_role role, const gnomon_rotate_gradients* gradients) {
  return call([&] {
    const Scenery at(attention, scene);
    const gnomon_rotate_gradients g = known("gradients", gradients);
    map_rows_backward(at.alone, role_of(role),
                      {c::const_view_of("rows", g.rows), c::view_of("d", g.d),
                       c::parameter_gradients_of(g.dparameters, g.dparameter_count)});
  });
}

gnomon_status gnomon_bias_table(const gnomon_attention* attention, const gnomon_scene* scene, int64_t first,
                                int64_t queries, float* table) {
  return call([&] {
    const Scenery at(attention, scene);
    logit_table(at.alone, {first, queries}, &need("table", table));
  });
}

gnomon_status gnomon_plan_text(const gnomon_attention* attention, const gnomon_scene* scene, char** text) {
  return call([&] {
    const Scenery at(attention, scene);
    need("text", text);
    *text = c::given_text(describe(at.alone.attention.inside().plan(at.places, at.alone.w)));
  });
}
