import { expect, test } from 'vitest'
import { lineFinder } from './find-line.ts'

const text = `# nothing
---
kind: List
items:
- kind: A
  metadata:
    name: x
- {kind: B, metadata: &m {name: y}}
---
kind: C
metadata:
  labels:
    app: *m
`

test.for<[number, (string | number)[], number]>([
  [3, [], 3],
  [3, ['items'], 4],
  [3, ['items', 0], 5],
  [3, ['items', 0, 'metadata', 'name'], 7],
  [3, ['items', 1, 'metadata', 'name'], 8],
  [3, ['items', 7], 4],
  [3, ['items', 0, 'metadata', 'namespace'], 6],
  [10, ['metadata', 'labels', 'app', 'name'], 13],
  [10, ['kind', 'x'], 10],
  [99, ['kind'], 99],
])('in the document of line %i, %j stands on line %i', ([document, path, line]) => {
  expect(lineFinder(text)(document, path)).toBe(line)
  expect(lineFinder(text.replaceAll('\n', '\r\n'))(document, path)).toBe(line)
})
