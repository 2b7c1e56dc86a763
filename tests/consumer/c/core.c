/* What a user of the installed library writes in C: README's lines, and a wrong spec. */
#include <gnomon.h>
#include <stdio.h>
#include <string.h>

gnomon_status readme(gnomon_view q, gnomon_view k, gnomon_view v, gnomon_view out); /* README's */

static float rows[32 * 3 * 128], out[32 * 3 * 128];

/* Where all values are 1, so is every output. */
static int readme_works(void) {
  const int64_t of_q[4] = {1, 32, 3, 128}, of_k[4] = {1, 8, 3, 128};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) rows[i] = 1;
  const gnomon_view q = gnomon_tokens_first(rows, GNOMON_FLOAT32, of_q);
  const gnomon_view k = gnomon_tokens_first(rows, GNOMON_FLOAT32, of_k);
  if (readme(q, k, k, gnomon_tokens_first(out, GNOMON_FLOAT32, of_q)) != GNOMON_OK) return 0;
  for (size_t i = 0; i < sizeof out / sizeof *out; ++i) {
    if (out[i] < 0.99999f || out[i] > 1.00001f) return 0;
  }
  return 1;
}

int main(void) {
  gnomon_attention_config config = GNOMON_ATTENTION_CONFIG_INIT;
  gnomon_attention* attention = NULL;
  config.heads = 2;
  config.head_dim = 8;
  if (gnomon_abi_version() != GNOMON_ABI_VERSION || !readme_works()) return 1;
  if (gnomon_attention_create("rop", &config, &attention) != GNOMON_USAGE || attention) return 1;
  puts(gnomon_last_error());
  return strstr(gnomon_last_error(), "did you mean 'rope'") ? 0 : 1;
}
