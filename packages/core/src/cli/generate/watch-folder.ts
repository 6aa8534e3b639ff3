import { watch } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'

/** Editors write a file in several steps. */
const PAUSE_MS = 100

/**
 * Calls back after every change to a module in a folder, once for those that come together, until it is told to stop.
 *
 * @param options.except a folder whose changes do not count, as does `node_modules`
 * @returns what stops it
 */
export function watchFolder(
  folder: string,
  { except, onChange }: { except: string; onChange: () => void },
): () => void {
  let timer: NodeJS.Timeout | undefined
  const watcher = watch(folder, { recursive: true }, (_event, name) => {
    if (name === null || !isWatched(join(folder, name), except)) return
    clearTimeout(timer)
    timer = setTimeout(onChange, PAUSE_MS)
  })
  return () => {
    clearTimeout(timer)
    watcher.close()
  }
}

/** Whether a change of a file may change what is generated. */
export function isWatched(path: string, except: string): boolean {
  const isModule = /\.[cm]?[jt]sx?$/.test(path)
  const isExcepted = !relative(resolve(except), resolve(path)).startsWith('..')
  return isModule && !isExcepted && !path.split(sep).includes('node_modules')
}
