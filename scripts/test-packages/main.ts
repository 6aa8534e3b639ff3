// `pnpm test:packages`: installs both tarballs, as published, in empty projects outside the workspace.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../packages/core/test/support/embedded-postgres.ts'
import { createProject, type Project } from './create-project.ts'
import { createTools, type Tool } from './create-tools.ts'
import { packLibraries } from './pack-libraries.ts'
import { appDependencies, peersAt, requiredPeers } from './peer-ranges.ts'
import { createReport } from './report.ts'
import { checkMessages, emit, RESOLUTIONS, type Resolution, typeCheck } from './type-check.ts'
import { checkCommand, checkDoctor, checkGenerated, importEntries, runSmoke } from './use-packages.ts'

const folder = mkdtempSync(join(tmpdir(), 'test-packages-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const report = createReport()
const libraries = packLibraries(folder)
const { oldCompiler, newCompiler, oldestNode, middleNode, newestNode } = createTools(
  join(folder, 'tools'),
  libraries,
)

const bare = createProject(join(folder, 'bare'), libraries, requiredPeers(libraries))
report.check('required peers alone', `Node ${newestNode.version}, entries`, () =>
  importEntries(bare, newestNode, { optional: false }),
)

const newest = projectAt('highest')
for (const compiler of [oldCompiler, newCompiler])
  for (const resolution of RESOLUTIONS) checkTypes('highest', newest, compiler, resolution)
report.check('highest peers', `TypeScript ${oldCompiler.version}, messages for wrong contexts`, () =>
  checkMessages(newest, oldCompiler),
)
const postgres = await startPostgres()
await runOn('highest', newest, [oldestNode, middleNode, newestNode])

const oldest = projectAt('lowest')
checkTypes('lowest', oldest, oldCompiler, 'nodenext')
await runOn('lowest', oldest, [oldestNode, newestNode])
await postgres.stop()

report.print()
// The stopped PostgreSQL server leaves handles open.
process.exit(report.hasFailed() ? 1 : 0)

function projectAt(end: 'lowest' | 'highest'): Project {
  const dependencies = { ...peersAt(end, libraries), ...appDependencies(end, libraries) }
  const project = createProject(join(folder, end), libraries, dependencies)
  report.versions(`${end} peers`, project.installed())
  return project
}

function checkTypes(end: string, project: Project, compiler: Tool, resolution: Resolution): void {
  report.check(`${end} peers`, `TypeScript ${compiler.version}, ${resolution}`, () =>
    typeCheck(project, compiler, resolution),
  )
}

async function runOn(end: string, project: Project, nodes: readonly Tool[]): Promise<void> {
  emit(project, newCompiler)
  for (const node of nodes) {
    const postgresUrl = await postgres.createDatabase(`${end}_${node.version}`)
    const check = (what: string, work: () => void) =>
      report.check(`${end} peers`, `Node ${node.version}, ${what}`, work)
    check('entries', () => importEntries(project, node, { optional: true }))
    check('npx sallyport', () => checkCommand(project, node))
    check('server and clients', () => runSmoke(project, node, { postgresUrl }))
    // Both load TypeScript of the app, which Node supports since 22.18.
    if (node !== oldestNode) check('generate', () => checkGenerated(project, node))
    if (node !== oldestNode) check('doctor', () => checkDoctor(project, node))
  }
}
