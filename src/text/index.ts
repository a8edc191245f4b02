export type { TemplateProblem } from './template/fault.ts'
export { type ReadTemplate, type RenderedTemplate, readTemplate, renderTemplate } from './template/template.ts'
export type { Template } from './template/tree.ts'
