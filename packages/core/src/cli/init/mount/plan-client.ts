import { posix } from 'node:path'
import { planEdits } from '../edits.ts'
import {
  addImports,
  findSource,
  importOf,
  inStyle,
  type Place,
  type Source,
  withExtension,
} from '../sources.ts'
import type { Steps } from '../steps.ts'
import { addToClient, CLIENT } from './mount-client.ts'
import { AUTH_CLIENT } from './templates.ts'

type ClientSteps = Pick<Steps, 'files' | 'edits' | 'byHand'>

const BY_HAND = 'Create the client of the page: docs/install.md#in-the-browser.'

/** Plans the client of a page, if the page is in the same package and on the same origin. */
export function planClient(sources: readonly Source[], { folder, extension }: Place): ClientSteps {
  const source = findSource(sources, CLIENT)
  if (source === null) return { files: {}, edits: [], byHand: [BY_HAND] }
  const path = posix.join(posix.dirname(source.path), 'auth-client.ts')
  const server = importOf('type { auth }', { from: path, to: `${folder}auth-server.ts` }).replace(/;$/m, '')
  const text = withExtension(AUTH_CLIENT.replace(/^import type .*\n/m, server), extension)
  const files = { [path]: text }
  if (source.text.includes('authLink(')) return { files, edits: [], byHand: [] }
  const client = addToClient(source.text)
  if (client === null) return { files: {}, edits: [], byHand: [BY_HAND] }
  const imports = addImports(client.imports, importOf('{ authClient }', { from: source.path, to: path }))
  const replacements = inStyle([imports, ...client.replacements], { text: source.text, extension })
  const edits = [{ path: source.path, done: 'authLink(', replacements, byHand: BY_HAND }]
  return { files: planEdits(edits).byHand.length === 0 ? files : {}, edits, byHand: [] }
}
