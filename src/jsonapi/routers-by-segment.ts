import express, { type IRouter, type RequestHandler } from 'express';

/** Lists its layers, as a router of Express does. */
export type RouterBySegment = RequestHandler & Pick<IRouter, 'stack'>;

/**
 * One router for each first segment of a path. Express compares a request with the routes of a router
 * one after the other, and the API has hundreds.
 */
export class RoutersBySegment {
  readonly #routers = new Map<string, IRouter>();

  /** The router for routes with this path, which begins with a slash and a plain segment. */
  routerFor(path: string): IRouter {
    const segment = firstSegment(path);
    const known = this.#routers.get(segment);
    if (known !== undefined) return known;
    const router = express.Router({ caseSensitive: true });
    this.#routers.set(segment, router);
    return router;
  }

  /** All of them, when they have their routes. Passes on a request that no route has. */
  combined(): RouterBySegment {
    const handle: RequestHandler = (req, res, next) => {
      const router = this.#routers.get(firstSegment(req.url));
      if (router === undefined) next();
      else router(req, res, next);
    };
    const stack = [...this.#routers.values()].flatMap((router) => router.stack);
    return Object.assign(handle, { stack });
  }
}

function firstSegment(url: string): string {
  return /^\/([^/?]*)/.exec(url)?.[1] ?? '';
}
