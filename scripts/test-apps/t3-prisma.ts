import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { prismaApp } from '../../packages/trpc/test/databases/prisma-app.ts'
import { install } from '../test-packages/create-project.ts'
import { editFiles } from './edit-files.ts'

/**
 * Installs an app of Prisma 6 without its engines, which npm doesn't serve: the client is WebAssembly, and an
 * adapter opens the database.
 */
export function installWithoutEngines(cwd: string): void {
  editFiles(cwd, {
    'package.json': [['"dependencies": {', '"dependencies": {\n    "@prisma/adapter-libsql": "^6.19.0",']],
    'prisma/schema.prisma': [['../generated/prisma"', '../generated/prisma"\n    engineType = "client"']],
    'src/server/db.ts': [
      ['import { env }', 'import { PrismaLibSQL } from "@prisma/adapter-libsql";\nimport { env }'],
      ['new PrismaClient({', 'new PrismaClient({\n    adapter: new PrismaLibSQL({ url: env.DATABASE_URL }),'],
    ],
    '.npmrc': 'ignore-scripts=true\n',
  })
  install(cwd)
  const prisma = createRequire(`${cwd}/`).resolve('prisma/build/index.js')
  // Paths of any files: with them, Prisma downloads no engine, and `generate` doesn't run them.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: prisma, PRISMA_QUERY_ENGINE_LIBRARY: prisma }
  execFileSync(process.execPath, [prisma, 'generate'], { cwd, env, stdio: 'pipe' })
}

/** Runs Prisma's schema engine as `prisma db push` does. */
export async function pushPrisma(cwd: string): Promise<void> {
  const schema = readFileSync(join(cwd, 'prisma/schema.prisma'), 'utf8')
  const app = await prismaApp(join(cwd, 'db.sqlite'))
  await app.push(schema.replace(/^.*env\("DATABASE_URL"\).*$/m, ''))
}
