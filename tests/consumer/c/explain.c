/* What a user of the lab library writes in C: what a model's file makes of position, as JSON; then the lines of docs/c.md. */
#include <gnomon.h>
#include <stdio.h>

#include "shown/docs/c_model.h"

int main(int count, char** words) {
  char* json = NULL;
  gnomon_attention* attention = NULL;
  gnomon_cache* cache = NULL;
  if (count < 2 || gnomon_explain(words[1], NULL, &json) != GNOMON_OK ||
      open_layer(words[1], 31, 16, &attention, &cache) != GNOMON_OK) {
    fprintf(stderr, "%s\n", gnomon_last_error());
    return 1;
  }
  puts(json);
  gnomon_text_free(json), gnomon_cache_free(cache), gnomon_attention_free(attention);
  return 0;
}
