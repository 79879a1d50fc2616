import { z } from 'zod';
import {
  COUNTED_MARKS,
  pauseDevice,
  pauseEverything,
  pauseProfile,
  type ReconcilerState,
  readReconcilerState,
} from '../../db/assignments/item-repository.js';
import type { Database } from '../../db/connection/database.js';
import { toAppError } from '../../db/connection/sqlstate.js';
import { AppError, notFound } from '../../errors.js';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import { sendAnswer } from '../../jsonapi/documents/send.js';
import type { ApiContext } from '../../jsonapi/handler.js';
import { action } from '../action.js';
import { ownDocument, ownDocumentSchema } from '../action-document.js';
import { type ApiOperation, type ApiRoute, jsonApiContent } from '../api-route.js';
import { refuseParameters } from '../request-parts.js';

export interface PauseDeps {
  db: Database;
  api: ApiContext;
}

const RECONCILER = {
  type: 'reconciler',
  onlyId: 1,
  attributes: z.strictObject({
    paused_at: z.string().meta({ format: 'date-time' }).nullable(),
    pause_reason: z.string().nullable(),
    waiting_devices: z
      .int()
      .describe(`Devices that are still to be looked at, of the first ${COUNTED_MARKS} changes.`),
    waiting_items: z.int().describe('Items whose devices are still to be looked at.'),
  }),
};

const REASON = {
  attributes: z.strictObject({
    reason: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ default: 'paused by an admin', description: 'Shown to everyone who wonders why.' }),
  }),
  example: { reason: 'The Wi-Fi profile locks devices out' },
};
const BY_AN_ADMIN = 'paused by an admin';

/** Pauses and resumes what assignments cause: for everything, one profile or one device. */
export function pauseRoutes(deps: PauseDeps): ApiRoute[] {
  return [everything(deps), ...changesOfEverything(deps), ...ofProfiles(deps), ...ofDevices(deps)];
}

function everything({ db, api }: PauseDeps): ApiRoute {
  const GET: ApiOperation = {
    operationId: 'readReconciler',
    tag: 'assignments',
    role: 'viewer',
    summary: 'See whether assignments are paused, and what is still to be looked at',
    description: 'Both counts are 0 when every device was looked at since the last change.',
    answers: [
      {
        status: 200,
        description: 'The state.',
        content: [jsonApiContent(ownDocumentSchema(RECONCILER))],
      },
    ],
    errors: [400],
    handlers: [
      refuseParameters,
      async (req, res) => {
        const state = await readReconcilerState(db.knex).catch((error: unknown) => {
          throw toAppError(error);
        });
        const shown = { id: 1, attributes: shownState(state), self: `${api.basePath}/reconciler` };
        sendAnswer(req, res, { status: 200, document: ownDocument(RECONCILER, shown) });
      },
    ],
  };
  return { path: '/reconciler', methods: { GET } };
}

function shownState({ paused_at, ...others }: ReconcilerState) {
  return { paused_at: paused_at && formatTimestamp(paused_at), ...others };
}

function changesOfEverything({ api }: PauseDeps): ApiRoute[] {
  const common = {
    method: 'POST',
    tag: 'assignments',
    role: 'admin',
    answer: { status: 200, description: 'The state.', shows: RECONCILER },
  } as const;
  const pause = action(api, {
    ...common,
    path: '/reconciler/pause',
    operationId: 'pauseReconciler',
    summary: 'Pause all assignments',
    description:
      'No device gets or loses anything until they are resumed; what was sent is not called back. ' +
      'Devices in Setup Assistant go on. 409 `conflict` if they are paused already.',
    body: REASON,
    audit: { action: 'reconciler.pause', targetType: 'reconciler' },
    run: async (trx, { body }) => {
      const reason = body?.reason ?? BY_AN_ADMIN;
      if (!(await pauseEverything(trx, reason))) throw unchanged('assignments are', 'paused');
      return { details: { reason }, attributes: shownState(await readReconcilerState(trx)) };
    },
  });
  const resume = action(api, {
    ...common,
    path: '/reconciler/resume',
    operationId: 'resumeReconciler',
    summary: 'Resume all assignments',
    description: 'Every assigned item is looked at. 409 `conflict` if they are not paused.',
    audit: { action: 'reconciler.resume', targetType: 'reconciler' },
    run: async (trx) => {
      if (!(await pauseEverything(trx))) throw unchanged('assignments are', 'not paused');
      return { attributes: shownState(await readReconcilerState(trx)) };
    },
  });
  return [pause, resume];
}

function unchanged(what: string, state: string): AppError {
  const detail = state === 'paused' ? `${what} paused already` : `${what} ${state}`;
  return new AppError('conflict', 409, detail);
}

function ofProfiles({ api }: PauseDeps): ApiRoute[] {
  const common = {
    method: 'POST',
    tag: 'profiles',
    role: 'admin',
    answer: { status: 200, description: 'The profile.', shows: 'profiles' },
  } as const;
  const change = async (trx: Parameters<typeof pauseProfile>[0], id: number, reason?: string) => {
    const isChanged = await pauseProfile(trx, id, reason);
    if (isChanged === undefined) throw notFound(`profiles ${id}`);
    const state = reason === undefined ? 'not paused' : 'paused';
    if (!isChanged) throw unchanged(`profile ${id} is`, state);
    return { details: { reason } };
  };
  const pause = action(api, {
    ...common,
    path: '/profiles/{id}/pause',
    operationId: 'pauseProfile',
    summary: 'Pause the assignments of a profile',
    description: 'No device gets or loses it until it is resumed.',
    body: REASON,
    audit: { action: 'profiles.pause', targetType: 'profiles' },
    run: (trx, { id, body }) => change(trx, id, body?.reason ?? BY_AN_ADMIN),
  });
  const resume = action(api, {
    ...common,
    path: '/profiles/{id}/resume',
    operationId: 'resumeProfile',
    summary: 'Resume the assignments of a profile',
    description:
      'Its devices are looked at. What was held back (`removals_paused_at`) is removed, too. 409 `conflict` ' +
      'if it is not paused.',
    audit: { action: 'profiles.resume', targetType: 'profiles' },
    run: (trx, { id }) => change(trx, id),
  });
  return [pause, resume];
}

function ofDevices({ api }: PauseDeps): ApiRoute[] {
  const common = {
    method: 'POST',
    tag: 'devices',
    role: 'admin',
    answer: { status: 200, description: 'The device.', shows: 'devices' },
  } as const;
  const change = async (trx: Parameters<typeof pauseDevice>[0], id: number, pauses: boolean) => {
    const isChanged = await pauseDevice(trx, id, pauses);
    if (isChanged === undefined) throw notFound(`devices ${id}`);
    if (!isChanged)
      throw unchanged(`the items of device ${id} are`, pauses ? 'paused' : 'not paused');
    return {};
  };
  const pause = action(api, {
    ...common,
    path: '/devices/{id}/pause_items',
    operationId: 'pauseDeviceItems',
    summary: 'Pause what is assigned to a device',
    description: 'It gets and loses nothing until that is resumed.',
    audit: { action: 'devices.pause_items', targetType: 'devices' },
    run: (trx, { id }) => change(trx, id, true),
  });
  const resume = action(api, {
    ...common,
    path: '/devices/{id}/resume_items',
    operationId: 'resumeDeviceItems',
    summary: 'Resume what is assigned to a device',
    description: 'The device is looked at.',
    audit: { action: 'devices.resume_items', targetType: 'devices' },
    run: (trx, { id }) => change(trx, id, false),
  });
  return [pause, resume];
}
