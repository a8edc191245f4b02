import { isLabelKey } from '../../../drain/index.ts'
import { dataAnnotation, stateLabel } from '../../names.ts'
import type { FieldProblem } from '../../plugin.ts'

/** No faults of the file, as the original loads it too; but nothing good comes of them. */
export function keyWarnings(key: string): FieldProblem[] {
  if (key === dataAnnotation || key === stateLabel)
    return [{ field: 'key', message: `${key} is the controller's own, which overwrites it; choose another key` }]
  if (isLabelKey(key)) return []
  return [{ field: 'key', message: `the API server takes no '${key}', nor anything that is written together with it` }]
}

const labelValue = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/

export function valueWarnings(value: string): FieldProblem[] {
  if (labelValue.test(value)) return []
  return [
    { field: 'value', message: `the API server takes no label of this value, nor anything that is written with it` },
  ]
}
