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
