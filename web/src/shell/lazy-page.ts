import { lazyRouteComponent } from '@tanstack/react-router';
import { probe, reached } from '../api/connection';

/** The component of a route, loaded when it is opened first, as soon as the server can be reached. */
export const lazyPage: typeof lazyRouteComponent = (importer, exportName) =>
  lazyRouteComponent(() => load(importer), exportName);

async function load<T>(importer: () => Promise<T>): Promise<T> {
  try {
    return await importer();
  } catch (error) {
    if (await probe()) return reloadOnce(error);
    await reached();
    renewStyles();
    return load(importer);
  }
}

/** The server answers without the file: a deployment has replaced it. */
function reloadOnce(error: unknown): Promise<never> {
  if (sessionStorage.getItem('reloaded') === location.pathname) throw error;
  sessionStorage.setItem('reloaded', location.pathname);
  location.reload();
  return new Promise(() => undefined);
}

/** Vite asks for a stylesheet once, also when it did not arrive. */
const failed = new Set<HTMLLinkElement>();
addEventListener(
  'error',
  ({ target }) => {
    if (target instanceof HTMLLinkElement && target.rel === 'stylesheet') failed.add(target);
  },
  true,
);

function renewStyles(): void {
  for (const link of failed) link.replaceWith(link.cloneNode());
  failed.clear();
}
