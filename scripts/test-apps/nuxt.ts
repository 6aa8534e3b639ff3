import type { App } from './app.ts'
import { guideApp } from './guide-app.ts'
import { guideFiles } from './guide-files.ts'
import { proveBanStatus } from './prove-ban-status.ts'

/** Files that the guide doesn't have. */
const FILES = {
  'nuxt.config.ts': `export default defineNuxtConfig({ compatibilityDate: '2026-11-01', telemetry: false })
`,
  'tsconfig.json': JSON.stringify({
    files: [],
    references: ['app', 'server', 'shared', 'node'].map((name) => ({
      path: `./.nuxt/tsconfig.${name}.json`,
    })),
  }),
  'app/expose.ts': `export function expose() {
  const { $client } = useNuxtApp()
  const push = (path: string) => navigateTo(path)
  onMounted(() => {
    Object.assign(window, { client: $client, router: { push } })
  })
  return $client
}
`,
  'app/pages/index.vue': `<script setup lang="ts">
import { expose } from '../expose'

expose()
</script>

<template>
  <p>Home</p>
</template>
`,
  'app/components/Profile.vue': `<script setup lang="ts">
import { authLink, subscriptionLink } from '@sallyport/trpc/client'
import { createTRPCClient } from '@trpc/client'
import type { AppRouter } from '../../server/lib/router'
import { expose } from '../expose'

defineProps<{ me?: { email: string } | null }>()
const client = expose()
const tick = ref(0)
onMounted(() => {
  const links = [authLink<AppRouter>(client), subscriptionLink<AppRouter>(client, { url: '/api/trpc' })]
  const trpc = createTRPCClient<AppRouter>({ links })
  const ticks = trpc.ticks.subscribe(undefined, {
    onData: (value) => {
      tick.value = value
    },
  })
  onUnmounted(() => ticks.unsubscribe())
})
</script>

<template>
  <div>
    <p>{{ me?.email }}</p>
    <p>tick {{ tick }}</p>
  </div>
</template>
`,
}

/** The app of docs/other-frameworks.md. */
export const nuxtApp: App = guideApp({
  name: 'nuxt',
  files: {
    ...guideFiles({
      library: 'server/lib/',
      blocks: {
        'docs/other-frameworks.md': [
          [/^(server|app)\//, ''],
          [/^clients\.ts$/, 'app/'],
          [/^use-auth\.ts$/, 'app/composables/'],
        ],
      },
    }),
    ...FILES,
  },
  dependencies: {
    '@hono/node-server': '^2.1.8',
    hono: '^4.13.19',
    nuxt: '^4.5.2',
    typescript: '^5.9.3',
    // Nuxt 4.5.2 doesn't build with Vite 8.4.0.
    vite: '~8.3.8',
    vue: '^3.5.45',
    'vue-router': '^5.5.1',
    'vue-tsc': '^3.0.0',
  },
  builds: [
    ['nuxt/bin/nuxt.mjs', 'prepare'],
    ['vue-tsc/bin/vue-tsc.js', '--build', '--noEmit'],
    ['nuxt/bin/nuxt.mjs', 'build'],
  ],
  server: ['.output/server/index.mjs'],
  prove: proveBanStatus,
})
