import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Returns how many descriptors a process and its children have for files whose path starts with `path`. */
export function countHandles(pid: number, path: string): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  const own = readdirSync(`/proc/${pid}/fd`).filter((fd) =>
    targetOf(`/proc/${pid}/fd/${fd}`).startsWith(path),
  )
  return children.reduce((sum, child) => sum + countHandles(Number(child), path), own.length)
}

/** A descriptor may be closed in between. */
function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}
