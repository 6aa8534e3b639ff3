import { EdgeVM } from '@edge-runtime/vm'
import { bundle } from './bundle.ts'

/** Globals that scripts find in Node but not on the edge. */
const OF_NODE = [
  'Buffer',
  'process',
  'setImmediate',
  'clearImmediate',
  'require',
  'global',
  '__dirname',
  'module',
]

/**
 * Bundles a file and runs it with web APIs only: no Node, and timers that are plain numbers.
 *
 * @param globals replace those of the runtime
 * @returns its exports
 * @throws Error if the bundle needs anything from Node
 */
export async function runOnEdge<Exports>(file: string, globals: object = {}): Promise<Exports> {
  const { code, imports } = await bundle(file)
  if (imports.length > 0) throw new Error(`The bundle imports ${imports.join(', ')}`)
  const vm = new EdgeVM({ extend: (context) => Object.assign(context, globals) })
  const present = OF_NODE.filter((name) => vm.evaluate<boolean>(`'${name}' in globalThis`))
  if (present.length > 0) throw new Error(`This is no edge: it has ${present.join(', ')}`)
  vm.evaluate(code)
  return vm.evaluate<Exports>('bundled')
}
