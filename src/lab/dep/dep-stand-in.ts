import { randomUUID } from 'node:crypto';
import { createServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, isIPv6, type Server } from 'node:net';
import { certificatePem, type LabAuthority } from '../pki/lab-authority.js';
import { isLocalProgram } from '../wire/control-http.js';
import { createControl, type DepControl } from './dep-control.js';
import { DepServer, RequestCounts } from './dep-server.js';
import { DepService } from './dep-service.js';
import {
  readSnapshot,
  restoreOrganization,
  SnapshotKeeper,
  type SnapshotStore,
  writeSnapshot,
} from './dep-snapshot.js';
import { PageCursors } from './device-pages.js';
import { FaultRules } from './fault-rules.js';
import { OAuthCheck } from './oauth-check.js';
import { Organization } from './organization.js';
import { Portal } from './portal.js';
import { servePortal } from './portal-routes.js';
import { ServerTokens } from './server-tokens.js';
import { type SessionOptions, Sessions } from './sessions.js';

export interface DepStandInOptions {
  /** Issues the certificate of the service; all tokens are derived from its key. */
  authority: LabAuthority;
  /** Stores devices and profiles across restarts; undefined: nothing is stored. */
  store?: SnapshotStore;
  /** A free port if 0 or absent. */
  port?: number;
  portalPort?: number;
  /** A loopback address. */
  host?: string;
  sessions?: SessionOptions;
  /** Prefix of consumer keys; by default the one that only labs accept. */
  mark?: string;
  /** Default: seven days. */
  cursorLifeMs?: number;
}

/**
 * Stands in for Apple's DEP service: the same protocol and checks over a real socket. The portal, on
 * a port of its own without TLS, is for what admins do at Apple's website, for the activation of
 * devices, and for tests.
 */
export interface DepStandIn extends DepControl {
  /** https URL of the service. */
  readonly url: string;
  readonly portalUrl: string;
  /** The CA that clients must trust. */
  readonly caPem: string;
  close(): Promise<void>;
}

/** Larger states would take too long to write. */
const MAX_KEPT_DEVICES = 20_000;

interface Kept {
  organization: Organization;
  keeper: SnapshotKeeper | undefined;
}

/** Rejects when a port is taken. */
export async function startDepStandIn(options: DepStandInOptions): Promise<DepStandIn> {
  const { authority, port = 0, portalPort = 0, host = '127.0.0.1', cursorLifeMs } = options;
  const tokens = new ServerTokens(authority, options.mark);
  const { organization, keeper } = await openOrganization(options, tokens);
  const [faults, counts] = [new FaultRules(), new RequestCounts()];
  const sessions = new Sessions(options.sessions ?? {});
  const oauth = new OAuthCheck(tokens, organization);
  const cursors = new PageCursors(organization.stateId, cursorLifeMs);
  const service = new DepService({ organization, oauth, sessions, cursors, faults });
  const server = await DepServer.create({ authority, service, counts });
  const portal = new Portal(organization, tokens);
  const control = createControl({ server, portal, faults, sessions, counts });
  const side = createPortalServer(control);
  const name = isIPv6(host) ? `[${host}]` : host;
  return {
    ...control,
    url: `https://${name}:${await listenOn(server.server, port, host)}`,
    portalUrl: `http://${name}:${await listenOn(side, portalPort, host)}`,
    caPem: certificatePem(authority),
    close: async () => {
      const all = Promise.all([closed(server.server), closed(side)]);
      server.destroyConnections();
      side.closeAllConnections();
      await all;
      await keeper?.close();
    },
  };
}

/** The stored organization, or a new one if there is none. */
async function openOrganization(
  { authority, store }: DepStandInOptions,
  tokens: ServerTokens,
): Promise<Kept> {
  const lab = authority.certificate.fingerprint.toString('hex');
  const text = await store?.load();
  const saved = text === undefined ? undefined : readSnapshot(text, lab);
  let keeper: SnapshotKeeper | undefined;
  const stateId = saved?.stateId ?? randomUUID();
  const organization = new Organization(tokens, stateId, () => keeper?.changed());
  if (saved !== undefined) restoreOrganization(organization, saved);
  const count = () => organization.servers.reduce((sum, { devices }) => sum + devices.length, 0);
  const write = () => (count() > MAX_KEPT_DEVICES ? undefined : writeSnapshot(organization, lab));
  if (store !== undefined) keeper = new SnapshotKeeper({ store, write });
  return { organization, keeper };
}

function createPortalServer(control: DepControl): HttpServer {
  return createServer((request, response) => {
    if (!isLocalProgram(request)) response.writeHead(403).end();
    else servePortal(control, request, response).catch(() => response.destroy());
  });
}

function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
