import { addBefore, type Edit } from '../edits.ts'

/** Adds the providers to the layout of create-next-app. */
export function layoutEdit(path: string): Edit {
  return {
    path,
    done: 'Providers',
    replacements: [
      addBefore(
        'import "./globals.css";\n',
        `import { type ReactNode, Suspense } from "react";
import { getPage } from "../server";
import { Providers } from "./providers";
`,
      ),
      addBefore(
        'export default function RootLayout(',
        `async function User({ children }: { children: ReactNode }) {
  const page = await getPage();
  return <Providers user={page.state}>{children}</Providers>;
}

`,
      ),
      [
        '{children}</body>',
        `
        <Suspense>
          <User>{children}</User>
        </Suspense>
      </body>`,
      ],
    ],
  }
}
