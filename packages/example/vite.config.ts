import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// `vite build` builds the script of the browser, and the module that renders pages on the server.
export default defineConfig({
  plugins: [react()],
  builder: {},
  environments: {
    client: {
      build: {
        outDir: 'dist/client',
        manifest: true,
        chunkSizeWarningLimit: 600,
        rolldownOptions: { input: 'src/web/entry-client.tsx' },
      },
    },
    ssr: { build: { outDir: 'dist/server', rolldownOptions: { input: 'src/web/entry-server.tsx' } } },
  },
})
