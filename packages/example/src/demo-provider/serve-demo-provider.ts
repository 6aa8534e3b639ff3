import type { RequestListener } from 'node:http'
import { PROVIDER_PATH } from './app-at-provider.ts'

/** Serves the demo provider below its path. Other requests go to `listener`. */
export function serveDemoProvider(listener: RequestListener): RequestListener {
  return async (request, response) => {
    const { url = '' } = request
    if (!url.startsWith(`${PROVIDER_PATH}/`)) return listener(request, response)
    // At the first request, so the app starts fast.
    const { demoProvider } = await import('./demo-provider.ts')
    // The provider finds its path in `originalUrl`, as below an Express app.
    Object.assign(request, { originalUrl: url, url: url.slice(PROVIDER_PATH.length) })
    return demoProvider(request, response)
  }
}
