/* What a user of the lab library writes in C: what a model's file makes of position, as JSON. */
#include <gnomon.h>
#include <stdio.h>

int main(int count, char** words) {
  char* json = NULL;
  if (count < 2 || gnomon_explain(words[1], NULL, &json) != GNOMON_OK) {
    fprintf(stderr, "%s\n", gnomon_last_error());
    return 1;
  }
  puts(json);
  gnomon_text_free(json);
  return 0;
}
