/** Of React's own declarations (the package `@types/react`), what `feedstore/react` uses. */
declare module 'react' {
  export interface ReactElement { readonly type: unknown; readonly props: unknown; readonly key: string | null }
  export type ReactNode = ReactElement | string | number | boolean | null | undefined | Iterable<ReactNode>;
  export interface Context<T> { Provider(properties: { value: T; children?: ReactNode }): ReactElement }
  export function createContext<T>(value: T): Context<T>;
  export function createElement<P>(type: (properties: P) => ReactElement, properties: P, ...children: ReactNode[]): ReactElement;
  export function useCallback<F extends Function>(callback: F, dependencies: readonly unknown[]): F;
  export function useContext<T>(context: Context<T>): T;
  export function useEffect(effect: () => void | (() => void), dependencies?: readonly unknown[]): void;
  export function useMemo<T>(create: () => T, dependencies: readonly unknown[]): T;
  export function useState<S>(initial: S | (() => S)): [S, (next: S | ((before: S) => S)) => void];
  export function useSyncExternalStore<S>(subscribe: (listener: () => void) => () => void, state: () => S, serverState?: () => S): S;
}
