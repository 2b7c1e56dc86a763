/* What a user of the installed library writes in C: the lines of README and docs/c.md, and a wrong spec. */
#include <gnomon.h>
#include <stdio.h>
#include <string.h>

#include "shown/README.h"
#include "shown/docs/c.h"

static float rows[32 * 3 * 128], out[32 * 3 * 128];

static int all_one(void) {
  for (size_t i = 0; i < sizeof out / sizeof *out; ++i) {
    if (out[i] < 0.99999f || out[i] > 1.00001f) return 0;
    out[i] = 0;
  }
  return 1;
}

/* Where all values are 1, so is every output. */
static int pages_work(void) {
  const int64_t of_q[4] = {1, 32, 3, 128}, of_k[4] = {1, 8, 3, 128};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) rows[i] = 1;
  const gnomon_view q = gnomon_tokens_first(rows, GNOMON_FLOAT32, of_q);
  const gnomon_view k = gnomon_tokens_first(rows, GNOMON_FLOAT32, of_k);
  const gnomon_view to = gnomon_tokens_first(out, GNOMON_FLOAT32, of_q);
  gnomon_attention_input in = GNOMON_ATTENTION_INPUT_INIT;
  in.q = q, in.k = k, in.v = k;
  return decode(q, k, k, to) == GNOMON_OK && all_one() && attend(&in, &to) == GNOMON_OK && all_one();
}

int main(void) {
  gnomon_attention_config config = GNOMON_ATTENTION_CONFIG_INIT;
  gnomon_attention* attention = NULL;
  config.heads = 2;
  config.head_dim = 8;
  if (gnomon_abi_version() != GNOMON_ABI_VERSION || !pages_work()) return 1;
  if (gnomon_attention_create("rop", &config, &attention) != GNOMON_USAGE || attention) return 1;
  puts(gnomon_last_error());
  return strstr(gnomon_last_error(), "did you mean 'rope'") ? 0 : 1;
}
