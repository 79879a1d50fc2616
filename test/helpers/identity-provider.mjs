// An OpenID Connect provider whose users sign in as the user that the login hint names.
// Arguments: the redirect URI of its one client. Prints `issuer <url>`.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const [, , redirectUri] = process.argv;
const server = createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'muster',
      client_secret: 'secret-of-the-client',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'client_secret_basic',
    },
  ],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['upn'] },
  pkce: { required: () => true },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  cookies: { keys: ['only for tests'] },
  findAccount: (_context, accountId) => ({ accountId, claims: () => claimsOf(accountId) }),
});

function claimsOf(accountId) {
  const sub = Buffer.from(accountId).toString('hex');
  if (accountId.startsWith('nobody')) return { sub: accountId };
  const verified = accountId.startsWith('silent')
    ? {}
    : { email_verified: !accountId.startsWith('unverified') };
  return {
    sub: accountId,
    email: accountId,
    upn: `upn-${sub.slice(0, 8)}@example.com`,
    ...verified,
  };
}

async function interact(request, response) {
  const { params, grantId } = await provider.interactionDetails(request, response);
  const accountId = params.login_hint ?? 'anyone@example.com';
  if (accountId.startsWith('cancelling')) {
    const result = { error: 'access_denied', error_description: 'the <b>user</b> said no' };
    await provider.interactionFinished(request, response, result);
    return;
  }
  const grant = grantId
    ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await provider.interactionFinished(request, response, result);
}

const callback = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) {
    callback(request, response);
    return;
  }
  interact(request, response).catch((error) => {
    response.statusCode = 500;
    response.end(String(error));
  });
});
process.stdout.write(`issuer ${issuer}\n`);
