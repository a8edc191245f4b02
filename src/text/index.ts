export type { TemplateProblem } from './template/fault.ts'
export { goTime } from './template/go-time.ts'
export { Struct } from './template/struct.ts'
export {
  checkTemplate,
  type ReadTemplate,
  type RenderedTemplate,
  readTemplate,
  renderTemplate,
} from './template/template.ts'
export type { Template } from './template/tree.ts'
export { TextMap } from './template/value.ts'
export { type FindLine, lineFinder } from './yaml/find-line.ts'
export { type ReadYaml, readYaml } from './yaml/read-yaml.ts'
export type { YamlDocument, YamlMap, YamlProblem, YamlValue } from './yaml/yaml-value.ts'
