import { adminApi, commandDocument, startApp, type TestApp } from '../helpers/app.js';
import { commandIn, createTestDevice, type TestDevice } from '../helpers/device.js';

/** As GET /devices/{id}/diagnosis shows it. */
export interface ShownFinding {
  code: string;
  severity: string;
  since: string;
  message: string;
  advice: string;
  action: { method: 'POST' | 'PATCH'; path: string; body: object | null } | null;
}

export interface Enrolled {
  id: number;
  device: TestDevice;
}

export interface DiagnosisTest {
  app: TestApp;
  api: ReturnType<typeof adminApi>;
  enroll(): Promise<Enrolled>;
  /** Changes the record of a device as no message would in the time of a test. */
  set(id: number, row: object): Promise<void>;
  /** Sets when the device was last seen, once its last contact is written, which may take a second. */
  seenLast(one: Enrolled, at: Date): Promise<void>;
  diagnosis(id: number): Promise<{ health: string | null; findings: ShownFinding[] }>;
  codes(id: number): Promise<string[]>;
  /** Resolves once the device has these findings. */
  until(id: number, codes: string[]): Promise<void>;
  finding(id: number, code: string): Promise<ShownFinding>;
  /** Does what the action of a finding says. */
  act(finding: ShownFinding): Promise<{ status: number }>;
  queue(id: number, requestType: string, parameters?: object): Promise<number>;
  /** Answers every command that is offered. */
  answerAll({ device }: Enrolled, status?: string): Promise<string[]>;
}

export async function startDiagnosis(
  options: Parameters<typeof startApp>[0] = {},
): Promise<DiagnosisTest> {
  const app = await startApp({ isSweeping: false, ...options });
  const api = adminApi(app);
  const diagnosis = async (id: number) => {
    const { status, body } = await api.get(`/devices/${id}/diagnosis`);
    expect([status, body.errors]).toEqual([200, undefined]);
    return body.data.attributes;
  };
  const findings = async (id: number): Promise<ShownFinding[]> => (await diagnosis(id)).findings;
  return {
    app,
    api,
    diagnosis,
    async enroll() {
      const device = await (await createTestDevice(app)).enroll();
      const { id } = await app.db.knex('devices').where({ udid: device.udid }).first('id');
      return { id, device };
    },
    async set(id, row) {
      await app.db.knex('devices').where({ id }).update(row);
    },
    async seenLast({ id, device }, at) {
      const before = new Date();
      await device.idle();
      const written = () => app.db.knex('devices').where({ id }).where('last_seen', '>=', before);
      while ((await written()).length === 0)
        await new Promise((resolve) => setTimeout(resolve, 20));
      await app.db.knex('devices').where({ id }).update({ last_seen: at });
    },
    async until(id, wanted) {
      for (let attempt = 0; attempt < 200; attempt += 1) {
        const found = (await findings(id)).map(({ code }) => code);
        if (JSON.stringify(found) === JSON.stringify(wanted)) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect((await findings(id)).map(({ code }) => code)).toEqual(wanted);
    },
    codes: async (id) => (await findings(id)).map(({ code }) => code),
    async finding(id, code) {
      const all = await findings(id);
      const found = all.find((finding) => finding.code === code);
      if (found === undefined) throw new Error(`no ${code}, but ${JSON.stringify(all)}`);
      return found;
    },
    async act({ action }) {
      if (action === null) throw new Error('the finding has no action');
      const { method, path, body } = action;
      const below = path.replace('/api/v1', '');
      return method === 'PATCH' ? api.patch(below, body ?? {}) : api.post(below, body ?? undefined);
    },
    async queue(id, requestType, parameters) {
      const document = commandDocument(id, requestType, parameters ? { parameters } : {});
      const { status, body } = await api.post('/commands', document);
      expect([status, body.errors]).toEqual([201, undefined]);
      return body.data.id;
    },
    async answerAll({ device }, status = 'Acknowledged') {
      const answered: string[] = [];
      for (let next = commandIn(await device.idle()); next !== undefined; ) {
        answered.push(String(next.command.RequestType));
        const fields = status === 'Error' ? { ErrorChain: [ERROR] } : {};
        next = commandIn(await device.report(next.uuid, status, fields));
      }
      return answered;
    },
  };
}

export const ERROR = {
  ErrorCode: 12_021,
  ErrorDomain: 'MCMDMErrorDomain',
  LocalizedDescription: 'Der Befehl ist unbekannt.',
  USEnglishDescription: 'The command is unknown.',
};

export const DAY_MS = 86_400_000;
export const ago = (ms: number): Date => new Date(Date.now() - ms);
