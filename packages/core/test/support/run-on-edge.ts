import { EdgeVM } from '@edge-runtime/vm'
import { bundle } from './bundle.ts'

/** What scripts find in Node and not on the edge. */
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
 * Bundles a file and runs it where there is nothing but the web's own interfaces: no Node, and timers that are plain numbers.
 *
 * @param globals put in place of those of the runtime
 * @returns its exports
 * @throws Error when the bundle needs anything of Node
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
