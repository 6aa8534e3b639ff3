import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// `vite build` makes both: what the browser loads, and what the server renders pages with.
export default defineConfig({
  plugins: [react()],
  builder: {},
  environments: {
    client: {
      build: {
        outDir: 'dist/client',
        manifest: true,
        rolldownOptions: { input: 'src/web/entry-client.tsx' },
      },
    },
    ssr: { build: { outDir: 'dist/server', rolldownOptions: { input: 'src/web/entry-server.tsx' } } },
  },
})
