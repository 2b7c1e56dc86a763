// What a user of the lab library writes: a model's settings explained, linted, and made to reach further.
#include <gnomon/models/extend/extend.h>
#include <gnomon/models/lint/lint.h>
#include <gnomon/pages/explain.h>

#include <cstdio>

int main() {
  const gnomon::Config config = gnomon::Config::parse(
      R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 8, "num_hidden_layers": 2,
          "max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 2, "facter": 4}})",
      "config.json");
  const gnomon::Explanation told = gnomon::explain(config, gnomon::reader_named("", config));
  std::printf("%s\n", told.groups.front().position.spec.print().c_str());
  if (gnomon::pages::explain_json(told, -1).empty()) return 1;
  if (gnomon::plan_extension(config, "4x").ways.empty()) return 2;
  const gnomon::LintFile file = gnomon::settings_for_lint(config);
  for (const gnomon::LintResult& result : gnomon::lint(*file.context))
    if (result.finding.key == "rope_scaling.facter") return 0;
  return 3;
}
