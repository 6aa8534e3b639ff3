export {
  type ActionMembers,
  type ActionProcedure,
  type AuthedAction,
  createAuthedAction,
  type RunnerOf,
} from './action/authed-action.ts'
export type { CallLimits } from './runtime/call/call-limits.ts'
export {
  type ActingUser,
  defineInternalFunctions,
  type InternalFunctions,
  type InternalFunctionsOptions,
} from './runtime/functions/internal-functions.ts'
export { createInternalHandler, type InternalHandlerOptions } from './runtime/functions/internal-handler.ts'
export {
  type BoundApi,
  type BoundAuth,
  type BoundMethod,
  createAuthRuntime,
  type GetAuth,
} from './runtime/get-auth.ts'
export { localRunner } from './runtime/runner/create-runner.ts'
export {
  type HttpRunnerOptions,
  type HttpRunnerRequest,
  type HttpRunnerResponse,
  httpRunner,
} from './runtime/runner/http-runner.ts'
export {
  bindRunner,
  type FunctionContext,
  type FunctionReference,
  type FunctionsOf,
  functionsOf,
  type MutationOptions,
  type RunMutation,
  type Runner,
  type RunnerBinding,
  type RunnerCall,
  type RunQuery,
} from './runtime/runner/runner.ts'
export type { RuntimeContext } from './runtime/select-adapter.ts'
