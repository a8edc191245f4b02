import { isObject, type JsonObject } from '../json.ts'
import { childAt, type FieldPath, isList, parsePath } from './field-path.ts'

export type ApplyMode = 'override' | 'merge' | 'ifNotPresent' | 'ignore'
export type ReplaceMode = 'never' | 'auto' | 'always'

/** What the manifest of an object says about how it is applied. */
export interface ApplyRules {
  /** Nothing if it is not said: then the policy of the Sync decides. */
  readonly mode: ApplyMode | undefined
  readonly replace: ReplaceMode | undefined
  readonly ignored: readonly FieldPath[]
  /** What cannot be understood, with what to write instead. */
  readonly problems: readonly string[]
}

const applyModes: readonly string[] = ['override', 'merge', 'ifNotPresent', 'ignore'] satisfies ApplyMode[]
const replaceModes: readonly string[] = ['never', 'auto', 'always'] satisfies ReplaceMode[]

export function applyRulesOf(body: JsonObject): ApplyRules {
  const mode = annotationOf(body, 'fettle.dev/apply')
  const replace = annotationOf(body, 'fettle.dev/replace')
  // Between brackets a comma divides the keys of one item.
  const written = (annotationOf(body, 'fettle.dev/ignore-fields') ?? '').split(/[\s,]+(?![^[]*\])/).filter(Boolean)
  const paths = written.map((text) => ({ text, path: parsePath(text) }))
  return {
    mode: mode !== undefined && applyModes.includes(mode) ? (mode as ApplyMode) : undefined,
    replace: replace !== undefined && replaceModes.includes(replace) ? (replace as ReplaceMode) : undefined,
    ignored: paths.flatMap(({ path }) => (path === undefined ? [] : [byName(path, body)])),
    problems: [
      ...wrongWord('fettle.dev/apply', mode, applyModes),
      ...wrongWord('fettle.dev/replace', replace, replaceModes),
      ...paths.flatMap(({ text, path }) =>
        path === undefined
          ? [`fettle.dev/ignore-fields says "${text}"; write /spec/replicas or spec.containers[name=web].image`]
          : [],
      ),
    ],
  }
}

export function annotationOf(body: JsonObject, name: string): string | undefined {
  const value = childAt(childAt(childAt(body, 'f:metadata'), 'f:annotations'), `f:${name}`)
  return typeof value === 'string' ? value : undefined
}

function wrongWord(name: string, value: string | undefined, allowed: readonly string[]): readonly string[] {
  return value === undefined || allowed.includes(value)
    ? []
    : [`${name} says "${value}"; write one of ${allowed.join(', ')}`]
}

/** A JSON pointer counts items and names map members that may look like numbers: the manifest says which is meant. */
function byName(path: FieldPath, body: JsonObject): FieldPath {
  const result: string[] = []
  let here = childAt({ body }, 'f:body')
  for (const element of path) {
    const isCounted = element.startsWith('i:')
    let exact = isCounted && !isList(here) ? `f:${element.slice(2)}` : element
    const item = childAt(here, exact)
    if (isCounted && isList(here) && isObject(item) && typeof item['name'] === 'string') {
      exact = `k:${JSON.stringify({ name: item['name'] })}`
    }
    result.push(exact)
    here = item
  }
  return result
}
