import { join } from 'node:path'
import { readDocuments } from '../../packages/trpc/test/documents/read-documents.ts'
import { install } from '../test-packages/create-project.ts'
import { tarballsOf } from '../test-packages/pack-libraries.ts'
import { peersAt } from '../test-packages/peer-ranges.ts'
import { run } from '../test-packages/run.ts'
import type { App } from './app.ts'
import { editFiles } from './edit-files.ts'

const INDEX = `import { AuthProvider, useAuth } from '@sallyport/trpc/react'
import { registerRootComponent } from 'expo'
import { Text } from 'react-native'
import { authClient } from './src/auth-client.ts'
import { follow } from './src/follow.ts'
import { trpc } from './src/trpc.ts'

void follow()

function Me() {
  const { status } = useAuth()
  return <Text onPress={() => trpc.me.query()}>{status}</Text>
}

registerRootComponent(() => (
  <AuthProvider client={authClient}>
    <Me />
  </AuthProvider>
))
`

const TYPES = {
  extends: 'expo/tsconfig.base',
  compilerOptions: { strict: true, allowImportingTsExtensions: true, noEmit: true },
  files: ['index.tsx'],
}

/** The app of docs/expo.md: its types and its bundle for Android. Running it needs a device. */
export const expoApps: readonly App[] = [
  {
    name: 'expo',
    async test({ root, libraries }) {
      const folder = join(root, 'expo')
      const { next: _, pg: __, 'better-sqlite3': ___, ...peers } = peersAt('highest', libraries)
      const dependencies = {
        ...peers,
        ...tarballsOf(libraries),
        expo: '^56.0.0',
        'expo-constants': '~56.0.0',
        'expo-linking': '~56.0.0',
        'expo-secure-store': '~56.0.0',
        react: '19.2.3',
        'react-native': '0.85.3',
        '@types/react': '^19.2.0',
        typescript: '^5.9.3',
      }
      const files = new Map<string, string>([['index.tsx', INDEX]])
      const json = {
        'package.json': { private: true, name: 'app', main: 'index.tsx', dependencies },
        'tsconfig.json': TYPES,
        'app.json': { expo: { name: 'app', slug: 'app', scheme: 'app', platforms: ['android', 'ios'] } },
      }
      for (const [name, value] of Object.entries(json)) files.set(name, JSON.stringify(value))
      for (const page of ['README.md', 'docs/expo.md'])
        for (const { name, code } of readDocuments().find(({ path }) => path === page)?.blocks ?? [])
          if (name?.endsWith('.ts')) files.set(`src/${name}`, code)
      editFiles(folder, Object.fromEntries(files))
      install(folder)
      run(process.execPath, ['node_modules/typescript/bin/tsc'], { cwd: folder })
      const args = ['export', '--platform', 'android', '--no-bytecode']
      run(process.execPath, ['node_modules/expo/bin/cli', ...args], { cwd: folder })
    },
  },
]
