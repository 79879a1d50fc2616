import type { Express } from 'express';

interface Layer {
  route?: { path: string };
  handle?: { stack?: Layer[] };
  /** For a router: whether the path lies below where it is mounted, and where that is. */
  match(path: string): false | { path: string };
}

/** The paths of all routes mounted below `base`, as Express itself keeps them, with `{id}`s. */
export function mountedPaths(app: Express, base: string): string[] {
  const { stack } = (app as unknown as { router: { stack: Layer[] } }).router;
  const below = stack.filter((layer) => {
    const mount = layer.handle?.stack === undefined ? false : layer.match(`${base}/x`);
    return mount && mount.path === base;
  });
  const paths = below.flatMap(({ handle }) => routesIn(handle?.stack ?? []));
  return [...new Set(paths)].map((path) => base + path.replace(/:(\w+)/g, '{$1}'));
}

function routesIn(stack: Layer[]): string[] {
  return stack.flatMap(({ route, handle }) =>
    route ? [route.path] : routesIn(handle?.stack ?? []),
  );
}
