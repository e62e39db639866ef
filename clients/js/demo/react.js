// Debian's build of React for pages, as the modules that feedstore/react and the page import. With ?react=development it is the
// one that checks what components do.

const build = new URLSearchParams(location.search).get('react') ?? 'production.min';

const load = (name) => new Promise((resolve, reject) => {
  const script = document.createElement('script');
  script.src = `/modules/${name}/umd/${name}.${build}.js`;
  script.onload = resolve;
  script.onerror = () => reject(new Error(`${script.src} is not there: install node-react and node-react-dom`));
  document.head.append(script);
});

await load('react');
await load('react-dom');

export const {
  Component, createContext, createElement, memo, startTransition, StrictMode, Suspense, useCallback, useContext, useEffect, useLayoutEffect, useMemo,
  useRef, useState, useSyncExternalStore,
} = globalThis.React;
export const { createRoot } = globalThis.ReactDOM;
