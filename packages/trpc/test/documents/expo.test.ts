import { stripTypeScriptTypes } from 'node:module'
import { expect, test, vi } from 'vitest'
import { soon } from '../support/soon.ts'
import { readDocuments } from './read-documents.ts'

test('a link that has expired shows its message, when the app starts and later', async () => {
  const { blocks } = readDocuments().find(({ path }) => path === 'docs/expo.md') ?? { blocks: [] }
  const code = blocks.find(({ name }) => name === 'follow.ts')?.code ?? ''
  const body = stripTypeScriptTypes(code).replaceAll(/^(?:import .*|export )/gm, '')
  const url = 'https://app.example.com/verify#token=old'
  const addEventListener = vi.fn<(type: string, listener: (event: { url: string }) => void) => void>()
  const alert = vi.fn<(title: string) => void>()
  const modules = {
    Linking: { addEventListener, getInitialURL: async () => url },
    AppState: { addEventListener() {} },
    Alert: { alert },
    authClient: { api: { verifyEmail: () => Promise.reject(new Error('This link has expired')) } },
  }
  const evaluate = new Function(...Object.keys(modules), `${body}\nreturn follow`)
  await evaluate(...Object.values(modules))()
  addEventListener.mock.lastCall?.[1]({ url })
  await soon(() => expect(alert.mock.calls).toEqual([['This link has expired'], ['This link has expired']]))
})
