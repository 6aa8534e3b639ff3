import type { ReactNode } from 'react'
import { getPage } from '../server-page.ts'
import { Providers } from './providers.tsx'

export default async function RootLayout({ children }: { children: ReactNode }) {
  const { page } = await getPage()
  return (
    <html lang="en">
      <body>
        <Providers state={page.state}>{children}</Providers>
      </body>
    </html>
  )
}
