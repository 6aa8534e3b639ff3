export {
  type ActionMembers,
  type ActionProcedure,
  type AuthedAction,
  createAuthedAction,
  type RunnerOf,
} from './action/authed-action.ts'
