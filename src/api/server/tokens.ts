import { endToken } from '../../auth/api-tokens.js';
import type { Sessions } from '../../auth/sessions.js';
import type { TokenVerifier } from '../../auth/token-verifier.js';
import { AppError, notFound } from '../../errors.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface TokenRouteDeps {
  api: ApiContext;
  sessions: Pick<Sessions, 'forget'>;
  tokenVerifier: Pick<TokenVerifier, 'forget'>;
}

const TYPE = 'tokens';

/** Revokes an API token. The lists are those of the resource; only the command line creates tokens. */
export function tokenRoutes({ api, sessions, tokenVerifier }: TokenRouteDeps): ApiRoute[] {
  const revoke = action(api, {
    method: 'POST',
    path: `/${TYPE}/{id}/revoke`,
    operationId: 'revokeToken',
    tag: TYPE,
    role: 'admin',
    summary: 'Revoke an API token',
    description:
      'For good, with its sessions. One revoked before stays as it is. 409 `in_use` for the token ' +
      'that asks: use another one, or `muster token revoke`.',
    needsRecentSignIn: true,
    answer: { status: 200, description: 'The token.', shows: TYPE },
    audit: { action: `${TYPE}.revoke`, targetType: TYPE, refusals: [] },
    run: async (trx, { id, context }) => {
      if (context.actor.tokenId === id) throw ownToken(id);
      const ended = await endToken(trx, id);
      if (ended === undefined) throw notFound(`${TYPE} ${id}`);
      const { name, role, isNew } = ended;
      return {
        details: isNew ? { name, role } : { already_revoked: true },
        afterCommit: async () => {
          tokenVerifier.forget();
          sessions.forget();
        },
      };
    },
  });
  return [revoke];
}

function ownToken(id: number): AppError {
  const message = `token ${id} is the one that you use: revoke it with another token, or by \`muster token revoke ${id}\``;
  return new AppError('in_use', 409, message);
}
