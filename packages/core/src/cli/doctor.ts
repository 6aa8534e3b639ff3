import { type Command, CommanderError } from 'commander'
import type { AppFileOptions } from './doctor/app-files.ts'
import { refuseWithout } from './missing-package.ts'

interface DoctorOptions extends AppFileOptions {
  readonly json?: true
}

/** `sallyport doctor`: which modules of an app carry the auth definition, and whether they may. */
export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('show which modules carry the auth definition; 1 where one must not')
    .option('--entry <path>', 'module that starts the server', 'src/server.ts')
    .option('--procedures <path>', 'module with the procedure builders', 'src/procedures.ts')
    .option('--action <path>', 'module with the action builder', 'src/authed-action.ts')
    .option('--auth <path>', 'module with the auth definition', 'src/auth.ts')
    .option('--out <folder>', 'folder of the generated files (default: generated, beside the definition)')
    .option('--json', 'print JSON')
  command.action(async ({ json, ...options }: DoctorOptions) => {
    // Loaded here, so that the other commands work without a bundler.
    const { findAppFiles } = await import('./doctor/app-files.ts')
    const { examine } = await import('./doctor/examine.ts').catch(refuseWithoutBundler)
    const { formatReport } = await import('./doctor/format-report.ts')
    const named = (['entry', 'procedures', 'action', 'auth', 'out'] as const).filter(
      (option) => command.getOptionValueSource(option) === 'cli',
    )
    const files = findAppFiles(options, { root: process.cwd(), named: new Set(named) })
    const report = await examine(files)
    if (report.modules.length === 0) {
      throw new CommanderError(
        2,
        'sallyport.procedures',
        'No module with procedures was found: name the one with their builders by --procedures',
      )
    }
    console.log(json ? JSON.stringify(report, null, 2) : formatReport(report))
    if (report.violations.length > 0) process.exitCode = 1
  })
}

const refuseWithoutBundler = refuseWithout(
  'rolldown',
  'sallyport doctor reads the module graph of the bundler rolldown, which is not installed',
)
