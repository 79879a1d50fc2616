import { z } from 'zod';
import type { CommandAdministration } from '../../commands/command-administration.js';
import type { DeviceActions } from '../../commands/device-actions.js';
import type { JsonObject } from '../../commands/present-command.js';
import type { IdentityRenewals } from '../../enroll/renewal/identity-renewal.js';
import type { Document } from '../../jsonapi/documents/document.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { attributesIn } from '../../jsonapi/operations/item.js';
import { requireRights } from '../../resources/commands/command-operations.js';
import { type ActionResult, action } from '../action.js';
import type { ApiRoute } from '../api-route.js';

export interface DeviceActionDeps {
  api: ApiContext;
  actions: DeviceActions;
  renewals: Pick<IdentityRenewals, 'renew'>;
  services: { commands: Pick<CommandAdministration, 'adminReason'> };
}

/** Actions that queue commands for one device. Those by GET change state, too; HEAD never does. */
export function deviceActionRoutes(deps: DeviceActionDeps): ApiRoute[] {
  return [clearPasscode(deps), queueInventory(deps), testCommand(deps), renewIdentity(deps)];
}

const COMMAND = { status: 201, description: 'The queued command.', shows: 'commands' } as const;

function audited(name: string) {
  return { action: `devices.${name}`, targetType: 'devices' };
}

/** The audit trail names what was queued, its secrets masked. */
function queued(ids: number | number[]): ActionResult {
  const details = (document: Document) => ({
    commands: attributesIn(document).map(({ id, request_type, parameters }) => ({
      id,
      request_type,
      parameters,
    })),
  });
  return { ids, details };
}

function clearPasscode({ api, actions }: DeviceActionDeps): ApiRoute {
  return action(api, {
    method: 'GET, POST',
    path: '/devices/{id}/clear_passcode',
    operationId: 'clearPasscode',
    tag: 'devices',
    role: 'operator',
    summary: 'Clear the passcode of a device',
    description:
      'Queues ClearPasscode with the unlock token that the device has sent. 409 `no_unlock_token` ' +
      'when it has sent none in its present enrollment, 422 on a platform without such a command.',
    answer: COMMAND,
    audit: audited('clear_passcode'),
    run: async (trx, { id }) => queued(await actions.clearPasscode(trx, id)),
  });
}

function queueInventory({ api, actions }: DeviceActionDeps): ApiRoute {
  return action(api, {
    method: 'GET, POST',
    path: '/devices/inventory/{id}',
    operationId: 'queueInventory',
    tag: 'devices',
    role: 'operator',
    summary: 'Ask a device for its whole inventory',
    description:
      'Queues every query that the device can answer: device information, applications, profiles, ' +
      'certificates, security and updates.',
    answer: { status: 201, description: 'The queued commands.', shows: { listOf: 'commands' } },
    audit: audited('inventory'),
    run: async (trx, { id }) => queued(await actions.inventory(trx, id)),
  });
}

const TEST_COMMAND = z.strictObject({
  request_type: z
    .string()
    .max(100)
    .optional()
    .meta({ default: 'DeviceInformation', description: "One of Apple's request types." }),
  parameters: z
    .record(z.string(), z.custom<JsonObject[string]>())
    .optional()
    .describe("Apple's keys; data as a base64 string, a date as an ISO 8601 string."),
});

function testCommand({ api, actions, services }: DeviceActionDeps): ApiRoute {
  return action(api, {
    method: 'POST',
    path: '/devices/test/{id}',
    operationId: 'queueTestCommand',
    tag: 'devices',
    role: 'operator',
    summary: 'Queue any command for a quick check',
    description:
      'Flat, or as the attributes of a JSON:API document. Without a body a DeviceInformation that ' +
      'asks for everything. Commands that erase or that set or reveal secrets need the role admin.',
    body: {
      attributes: TEST_COMMAND,
      needsAttributes: true,
      example: { request_type: 'DeviceInformation', parameters: { Queries: ['OSVersion'] } },
    },
    answer: COMMAND,
    audit: audited('test'),
    run: async (trx, { id, body, context }) => {
      const command = requestedCommand(body);
      if (command !== undefined) requireRights(services, context, command);
      return queued(await actions.test(trx, id, command));
    },
  });
}

/** undefined: none is named. */
function requestedCommand({ request_type, parameters = {} }: z.infer<typeof TEST_COMMAND>) {
  if (request_type === undefined && Object.keys(parameters).length === 0) return undefined;
  return { requestType: request_type ?? 'DeviceInformation', parameters };
}

/** The server also renews identities by itself, in time. */
function renewIdentity({ api, renewals }: DeviceActionDeps): ApiRoute {
  return action(api, {
    method: 'POST',
    path: '/devices/{id}/renew_identity',
    operationId: 'renewIdentity',
    tag: 'devices',
    role: 'operator',
    summary: 'Renew the identity of a device now',
    description:
      'Queues InstallProfile with the enrollment profile, by which the device gets a new identity ' +
      'certificate; it stays enrolled. The server renews identities by itself when a third of ' +
      'their life is left. 409 `conflict` while a renewal is under way (naming its command), or when ' +
      'the device is not enrolled or its identity was revoked.',
    answer: COMMAND,
    audit: audited('renew_identity'),
    run: async (trx, { id }) => queued(await renewals.renew(trx, id)),
  });
}
