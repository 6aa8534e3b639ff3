import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT: string = join(import.meta.dirname, '../..')

/** Pages of the site outside docs/, and their paths on the site. */
const ROOT_PAGES: Readonly<Record<string, string>> = {
  'README.md': 'quick-start.md',
  'ARCHITECTURE.md': 'architecture.md',
  'CONTRIBUTING.md': 'contributing.md',
  'GLOSSARY.md': 'glossary.md',
  'SECURITY.md': 'security-policy.md',
}

export interface Group {
  readonly text: string
  /** Paths from the root of the repository, without `.md`. */
  readonly pages: readonly string[]
}

/** The pages of the site in the order of the sidebar. */
export const GROUPS: readonly Group[] = [
  {
    text: 'Start',
    pages: [
      'README',
      ...docs(
        'install',
        'protect',
        'sign-in',
        'oauth',
        'passkeys',
        'email-codes',
        'second-factors',
        'first-admin',
      ),
    ],
  },
  {
    text: 'Guides',
    pages: docs(
      ...['react', 'ssr', 'nextjs', 'pages-router', 'tanstack-start', 'react-router', 'other-frameworks'],
      ...['websocket-and-sse', 'server', 'deploy', 'operate', 'upgrade'],
    ),
  },
  {
    text: 'Recipes',
    pages: docs('transformers', 'react-query', 'one-context', 'two-hosts', 'expo', 'migrating'),
  },
  {
    text: 'Reference',
    pages: docs(
      ...[
        'concepts',
        'limits',
        'comparison',
        'sessions',
        'keys',
        'databases',
        'endpoints',
        'errors',
        'events',
        'clients',
      ],
      ...['actions', 'organizations', 'plugins', 'boundary', 'imports', 'scaling', 'security'],
    ),
  },
  {
    text: 'Maintainers',
    pages: [
      ...docs('internals/testing', 'internals/releasing', 'internals/threat-model', 'internals/asvs'),
      ...['ARCHITECTURE', 'CONTRIBUTING', 'GLOSSARY', 'SECURITY'],
    ],
  },
  { text: 'Decisions', pages: globPages('docs/internals/decisions/*.md') },
  { text: 'API', pages: globPages('docs/api/*.md') },
]

/** The path of a page on the site, or null if the file isn't a page. Both are paths of Markdown files. */
export function sitePath(file: string): string | null {
  return file.startsWith('docs/') ? file.slice('docs/'.length) : (ROOT_PAGES[file] ?? null)
}

/** The first heading of a page. */
export function titleOf(file: string): string {
  if (file === 'README.md') return 'Quick start'
  return /^# (.*)$/m.exec(readFileSync(join(ROOT, file), 'utf8'))?.[1]?.replaceAll('`', '') ?? file
}

function docs(...names: string[]): string[] {
  return names.map((name) => `docs/${name}`)
}

function globPages(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT })
    .map((file) => file.replace(/\.md$/, ''))
    .toSorted()
}
