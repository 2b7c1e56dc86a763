// The JSON schema of a config.json's settings of RoPE, made from the keys that gnomon reads.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gnomon/models/resolve/family.h"
#include "gnomon/models/resolve/rope_keys.h"
#include "gnomon/pages/lint.h"

namespace gnomon::pages {
namespace {

using Json = nlohmann::ordered_json;

Json value_schema(RopeKeyKind kind) {
  switch (kind) {
    case RopeKeyKind::word:
      return {{"enum", kRopeTypes}};
    case RopeKeyKind::flag:
      return {{"type", "boolean"}};
    case RopeKeyKind::number:
      return {{"type", "number"}};
    case RopeKeyKind::positive:
      return {{"type", "number"}, {"exclusiveMinimum", 0}};
    case RopeKeyKind::growth:
      return {{"type", "number"}, {"minimum", 1}};
    case RopeKeyKind::share:
      return {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
    case RopeKeyKind::tokens:
      return {{"type", "integer"}, {"minimum", 1}};
    case RopeKeyKind::factors:
      return {{"type", "array"}, {"items", value_schema(RopeKeyKind::positive)}, {"minItems", 1}};
    case RopeKeyKind::sections:
      return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", 1}};
  }
  return {};
}

// Null is an absent value, but for what the type needs.
Json key_schema(const RopeKey& key) {
  Json schema = value_schema(key.kind);
  if (schema.contains("enum"))
    schema["enum"].push_back(nullptr);
  else
    schema["type"] = {schema["type"], "null"};
  schema["description"] = key.says;
  return schema;
}

// If the dictionary says that type, under the new name or else the old one, it has what the type needs.
Json needs_of(std::string_view type) {
  Json needed = Json::array(), values = Json::object();
  for (const RopeKey& key : rope_keys()) {
    if (std::find(key.needed_by.begin(), key.needed_by.end(), type) == key.needed_by.end()) continue;
    needed.push_back(key.name);
    values[std::string(key.name)] = value_schema(key.kind);
  }
  if (needed.empty()) return {};
  const auto says = [&](const char* name) {
    return Json{{"required", {name}}, {"properties", {{name, {{"const", type}}}}}};
  };
  Json old = says("type");
  old["not"] = {{"required", {"rope_type"}}};
  return {{"if", {{"anyOf", {says("rope_type"), old}}}},
          {"then", {{"required", needed}, {"properties", values}}}};
}

Json dictionary() {
  Json keys = Json::object(), needs = Json::array();
  for (const RopeKey& key : rope_keys()) keys[std::string(key.name)] = key_schema(key);
  for (const std::string_view type : kRopeTypes)
    if (Json need = needs_of(type); !need.is_null()) needs.push_back(std::move(need));
  return {{"type", "object"}, {"properties", keys}, {"allOf", needs}};
}

Json reference(const char* name) { return {{"$ref", std::string("#/definitions/") + name}}; }

// One dictionary, or one for each kind of layer.
Json rope() {
  const Json of_kinds{
      {"type", "object"}, {"minProperties", 1}, {"additionalProperties", {{"type", "object"}}}};
  return {{"type", {"object", "null"}},
          {"if", of_kinds},
          {"then", {{"additionalProperties", reference("dictionary")}}},
          {"else", {{"if", {{"type", "object"}}}, {"then", reference("dictionary")}}}};
}

// The base at the top level: one number, or in the files of some classes a list with one for each layer.
Json with_bases(Json settings) {
  Json types = Json::array(), base;
  for (const Family& family : families())
    for (const std::string_view type : family.types)
      if (family.rope.dicts == RopeDicts::listed) types.push_back(type);
  for (const RopeKey& key : rope_keys())
    if (key.name == "rope_theta") base = key_schema(key);
  Json bases = base;
  bases["type"].push_back("array");
  bases["items"] = value_schema(RopeKeyKind::positive);
  bases["minItems"] = 1;
  bases["description"] = base["description"].get<std::string>() + " A list has one for each layer.";
  settings["if"] = {{"required", {"model_type"}}, {"properties", {{"model_type", {{"enum", types}}}}}};
  settings["then"] = {{"properties", {{"rope_theta", bases}}}};
  settings["else"] = {{"properties", {{"rope_theta", base}}}};
  return settings;
}

}  // namespace

std::string rope_schema() {
  Json parts = {{"rope_parameters", reference("rope")}, {"rope_scaling", reference("rope")}};
  for (const RopeKey& key : rope_keys())
    if (key.name == "partial_rotary_factor") parts[std::string(key.name)] = key_schema(key);
  for (const char* part : {"text_config", "vision_config", "audio_config", "thinker_config", "talker_config",
                           "decoder", "encoder", "llm_config", "language_config"})
    parts[part] = {{"if", {{"type", "object"}}}, {"then", reference("settings")}};
  const Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                    {"title", "Settings of RoPE in a config.json, as transformers 5.23 reads them"},
                    {"$ref", "#/definitions/settings"},
                    {"definitions",
                     {{"settings", with_bases({{"type", "object"}, {"properties", parts}})},
                      {"rope", rope()},
                      {"dictionary", dictionary()}}}};
  return schema.dump(1) + "\n";
}

}  // namespace gnomon::pages
