import { createContext, use } from 'react'
import { useAppAuth } from './clients.ts'

/** The outcome of a form that the browser sent without JavaScript. */
export interface FormResult {
  /** The `action` of the form. */
  readonly path: string
  readonly isSuccess: boolean
  readonly message?: string
  /** What the user entered, except passwords. */
  readonly values: Readonly<Record<string, string>>
}

export const FormResultContext = createContext<FormResult | null>(null)

/** Returns the outcome of the form with this `action`, if the page was rendered for one. */
export function useFormResult(path: string): FormResult | null {
  const result = use(FormResultContext)
  const { userChanges } = useAppAuth()
  return userChanges === 0 && result?.path === path ? result : null
}
