import { dirname, join } from 'node:path'
import { type Command, Option } from 'commander'
import { envFile } from './database-options.ts'
import type { GenerateOptions } from './generate/generate-files.ts'

interface GenerateCommandOptions extends Omit<GenerateOptions, 'out'> {
  readonly out?: string
  readonly check?: true
  readonly watch?: true
  readonly env?: string
}

/** `sallyport generate`: what an app imports in place of its auth definition. */
export function addGenerateCommand(program: Command): void {
  program
    .command('generate')
    .description('write the modules that bind the auth definition: auth.ts, session.ts and database.ts')
    .option('--auth <path>', 'module whose default export is the auth definition', 'src/auth.ts')
    .addOption(envFile())
    .option('--out <folder>', 'folder of the files (default: generated, beside the definition)')
    .addOption(
      new Option(
        '--import-extension <ending>',
        'how they import the definition (default: as tsconfig.json says)',
      ).choices(['ts', 'js', 'none']),
    )
    .option('--check', 'write nothing; 1 where a file differs')
    .addOption(new Option('--watch', 'again after every change of a module beside it').conflicts('check'))
    .action(async ({ out, check, watch, env: _loaded, ...rest }: GenerateCommandOptions) => {
      const options = { ...rest, out: out ?? join(dirname(rest.auth), 'generated') }
      if (watch) return regenerate(options)
      const code = await generate(options, check === true).catch(fail)
      // The definition may have left files open that are watched.
      process.exit(code)
    })
}

async function generate(options: GenerateOptions, isCheck: boolean): Promise<number> {
  const { generateFiles } = await import('./generate/generate-files.ts')
  const { coldStubs } = await import('./generate/cold-stubs.ts')
  const { differingFiles, missingFiles, refuseForeignFiles, writeFiles } = await import(
    './generate/generated-files.ts'
  )
  const { out } = options
  const stubs = coldStubs('')
  const absent = isCheck ? missingFiles(out, stubs) : []
  for (const path of absent) console.error(`${path} is missing: run "sallyport generate"`)
  // The definition may import what is missing, and nothing is written here.
  if (absent.length > 0) return 1
  if (!isCheck) refuseForeignFiles(out, stubs)

  const { files, missing } = await generateFiles(options)
  if (missing !== null) console.error(`${missing}: the files are stubs, which throw when they are called`)
  const paths = isCheck ? differingFiles(out, files) : writeFiles(out, files)
  for (const path of paths) {
    if (isCheck) console.error(`${path} differs from the auth definition: run "sallyport generate"`)
    else console.log(`wrote ${path}`)
  }
  if (paths.length === 0) console.log('up to date')
  return isCheck ? Math.min(paths.length, 1) : 0
}

function fail(error: unknown): number {
  console.error(error instanceof Error ? error.message : error)
  return 1
}

/** Generates now and after every change, each time in a process of its own, since a module is loaded once. */
async function regenerate({ auth, out, importExtension }: GenerateOptions): Promise<void> {
  const { createReruns } = await import('./generate/create-reruns.ts')
  const { watchFolder } = await import('./generate/watch-folder.ts')
  const args = ['generate', '--auth', auth, '--out', out]
  if (importExtension !== undefined) args.push('--import-extension', importExtension)
  const reruns = createReruns(args)
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
  const unwatch = watchFolder(dirname(auth), { except: out, onChange: reruns.run })
  reruns.run()
  await stopped
  unwatch()
  reruns.stop()
}
