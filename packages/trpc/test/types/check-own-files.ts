// What TypeScript 5.9 finds wrong in an app and in our declarations. `tsc` would check those of all libraries as well, which takes most of its
// time, or none at all.
import { dirname } from 'node:path'
import ts from 'typescript-5.9'

// As of `tsc`: `-p` and the project.
const [, , , project = ''] = process.argv
const { config, error } = ts.readConfigFile(project, ts.sys.readFile)
const { options, fileNames, errors } = ts.parseJsonConfigFileContent(config, ts.sys, dirname(project))
const host = ts.createIncrementalCompilerHost(options)
// What has not changed since the last run is not looked at again.
const program = ts.createIncrementalProgram({ rootNames: fileNames, options, host })
const own = program.getSourceFiles().filter(({ fileName }) => !/node_modules\/(?!\.cache\/)/.test(fileName))
const complaints = [
  ...(error === undefined ? [] : [error]),
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...own.flatMap((file) => [
    ...program.getSyntacticDiagnostics(file),
    ...program.getSemanticDiagnostics(file),
  ]),
]
program.emit()
console.log(
  ts.formatDiagnostics(complaints, {
    getCurrentDirectory: ts.sys.getCurrentDirectory,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  }),
)
