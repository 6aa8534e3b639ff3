import assert from 'node:assert/strict'
import type { App } from './app.ts'
import { guideApp } from './guide-app.ts'
import { type Files, guideFiles } from './guide-files.ts'
import type { ServedApp } from './proofs.ts'
import { proveBanStatus } from './prove-ban-status.ts'

/** Files that the guide doesn't have. */
const FILES = {
  'src/app.html': `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    %sveltekit.head%
  </head>
  <body>
    <div style="display: contents">%sveltekit.body%</div>
  </body>
</html>
`,
  'src/expose.ts': `import { getContext, onMount } from 'svelte'
import { goto } from '$app/navigation'
import type { createClients } from './clients'

export function expose() {
  const { client } = getContext<ReturnType<typeof createClients>>('auth')
  onMount(() => {
    Object.assign(window, { client, router: { push: goto } })
  })
  return client
}
`,
  'src/routes/+page.svelte': `<script lang="ts">
  import { expose } from '../expose'

  expose()
</script>

<p>Home</p>
`,
  'src/routes/me/profile.svelte': `<script lang="ts">
  import { authLink, subscriptionLink } from '@sallyport/trpc/client'
  import { createTRPCClient } from '@trpc/client'
  import { onMount } from 'svelte'
  import type { AppRouter } from '../../../server/lib/router'
  import { expose } from '../../expose'

  const { me } = $props()
  const client = expose()
  let tick = $state(0)
  onMount(() => {
    const links = [authLink<AppRouter>(client), subscriptionLink<AppRouter>(client, { url: '/api/trpc' })]
    const trpc = createTRPCClient<AppRouter>({ links })
    const ticks = trpc.ticks.subscribe(undefined, {
      onData: (value) => {
        tick = value
      },
    })
    return () => ticks.unsubscribe()
  })
</script>

<p>{me?.email}</p>
<p>tick {tick}</p>
`,
}

const GUIDE = guideFiles({
  library: 'server/lib/',
  blocks: {
    'docs/other-frameworks.md': [
      [/^src\//, ''],
      [/^(auth-state|clients)\.ts$/, 'src/'],
    ],
  },
})

const hooks = GUIDE['src/hooks.server.ts'] ?? ''

/** The setting of the guide for Apple. */
const CSRF = "csrf: { trustedOrigins: ['https://appleid.apple.com'] }"

/** The app of docs/other-frameworks.md, with the files of a new app of each version. */
export const svelteKitApps: readonly App[] = [
  svelteKitApp('sveltekit 3', {
    files: {
      'vite.config.ts': `import adapter from '@sveltejs/adapter-node'
import { sveltekit } from '@sveltejs/kit/vite'
import { defineConfig } from 'vite'

export default defineConfig({ plugins: [sveltekit({ adapter: adapter(), ${CSRF} })] })
`,
      'tsconfig.json': JSON.stringify({
        extends: '$app/tsconfig',
        include: ['src', '*'],
        compilerOptions: { strict: true, skipLibCheck: true },
      }),
    },
    dependencies: { '@sveltejs/adapter-node': '^6.0.1', '@sveltejs/kit': '^3.1.1', typescript: '^6.0.3' },
  }),
  svelteKitApp('sveltekit 2', {
    files: {
      'src/hooks.server.ts': hooks.replace('@sveltejs/kit/hooks', '@sveltejs/kit'),
      'svelte.config.js': `import adapter from '@sveltejs/adapter-node'

export default { kit: { adapter: adapter(), ${CSRF} } }
`,
      'vite.config.ts': `import { sveltekit } from '@sveltejs/kit/vite'
import { defineConfig } from 'vite'

export default defineConfig({ plugins: [sveltekit()] })
`,
      'tsconfig.json': JSON.stringify({
        extends: './.svelte-kit/tsconfig.json',
        compilerOptions: { strict: true, skipLibCheck: true },
      }),
    },
    // Its build imports the `cookie` that npm put at the top: see the guide.
    dependencies: {
      '@sveltejs/adapter-node': '^5.5.7',
      '@sveltejs/kit': '^2.70.4',
      cookie: '^0.6.0',
      typescript: '^5.9.3',
    },
  }),
]

function svelteKitApp(
  name: string,
  { files, dependencies }: { files: Files; dependencies: Readonly<Record<string, string>> },
): App {
  return guideApp({
    name,
    files: { ...GUIDE, ...FILES, ...files },
    dependencies: {
      '@sveltejs/vite-plugin-svelte': '^7.0.0',
      svelte: '^5.57.3',
      vite: '^8.3.8',
      ...dependencies,
    },
    builds: [
      ['@sveltejs/kit/svelte-kit.js', 'sync'],
      ['typescript/bin/tsc', '--noEmit'],
      ['vite/bin/vite.js', 'build'],
    ],
    server: ['build/index.js'],
    prove,
  })
}

async function prove({ origin, ban }: Pick<ServedApp, 'origin' | 'ban'>): Promise<void> {
  const posted = { method: 'POST', headers: { origin: 'https://appleid.apple.com' } }
  const body = new URLSearchParams({ state: 'a' })
  const callback = await fetch(`${origin}/api/auth/callback/apple`, { ...posted, body })
  assert.match(await callback.text(), /"code":"NOT_FOUND"/)

  await proveBanStatus({ origin, ban })
}
