import { queryOptions, useQueryClient } from '@tanstack/react-query';
import { asNew } from '../../api/as-new';
import type { Schemas } from '../../api/client';
import { call, client } from '../../api/client';
import { uploadFile } from '../../api/files';
import { once, useMutation } from '../../api/mutation';
import { pathOf } from '../../api/path-of';
import { LIVE } from '../../api/query-client';
import { type RowOf, rowOf, rowsOf } from '../../api/rows';

export type SigningRequest = RowOf<Schemas['certificate_signing_requests_resource']>;

const PUSH = '{"name":"purpose","op":"eq","val":"mdm.pushcert"}';

const PUSH_REQUEST = { page: { size: 1 }, sort: ['-id'], 'filter[]': [PUSH] };

/** The newest request for a push certificate; null where there is none. */
export const pushRequestQuery = queryOptions({
  queryKey: ['certificate_signing_requests', 'push'],
  queryFn: async (): Promise<SigningRequest | null> => {
    const params = { query: PUSH_REQUEST };
    const document = await call(() => client.GET('/certificate_signing_requests', { params }));
    return rowsOf(document)[0] ?? null;
  },
});

export function useCreatePushRequest() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (account: string, key) => {
      const attributes = asNew({
        purpose: 'mdm.pushcert' as const,
        subject: `CN=Muster push certificate of ${account.replace(/[,+="<>#;/\\]/g, '')}`,
        apple_account: account,
      });
      const type = 'certificate_signing_requests' as const;
      return call(() =>
        client.POST('/certificate_signing_requests', {
          body: { data: { type, attributes } },
          ...once(key),
        }),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['certificate_signing_requests'] }),
  });
}

/** Where the file for Apple's page is downloaded. */
export function pushRequestPath(id: number): string {
  return `/api/v1/certificate_signing_requests/${id}/push_request`;
}

export function useUploadPushCertificate() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (file: File, key) => {
      const attributes = { pem_certificate: await file.text() };
      const type = 'certificates' as const;
      return call(() =>
        client.POST('/push_certificates', { body: { data: { type, attributes } }, ...once(key) }),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['credentials'] }),
  });
}

interface Vendor {
  certificate: File;
  privateKey: File;
}

export function useStoreVendor() {
  return useMutation({
    mutationFn: async ({ certificate, privateKey }: Vendor, key) => {
      const attributes = asNew({
        purpose: 'mdm.vendor' as const,
        pem_certificate: await certificate.text(),
        pem_private_key: await privateKey.text(),
      });
      const type = 'certificates' as const;
      const body = { data: { type, attributes } };
      return call(() => client.POST('/certificates', { body, ...once(key) }));
    },
  });
}

const LINKS = { page: { size: 100 }, sort: ['-id'] };

export const linksQuery = queryOptions({
  ...LIVE,
  queryKey: ['enrollment_links'],
  queryFn: async () => {
    return rowsOf(await call(() => client.GET('/enrollment_links', { params: { query: LINKS } })));
  },
});

export interface LinkValues {
  name: string;
  max_uses: number;
  expires_at: string;
}

export function useMakeLink() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (values: LinkValues, key) => {
      const type = 'enrollment_links' as const;
      const body = { data: { type, attributes: asNew(values) } };
      const { data } = await call(() => client.POST('/enrollment_links', { body, ...once(key) }));
      return rowOf(data as Schemas['enrollment_links_resource']);
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['enrollment_links'] }),
  });
}

const ACCOUNTS = { page: { size: 1 }, fields: { dep_accounts: 'server_name' } };

export const depAccountsQuery = queryOptions({
  ...LIVE,
  queryKey: ['dep_accounts', 'count'],
  queryFn: async () => {
    const params = { query: ACCOUNTS };
    return (await call(() => client.GET('/dep/accounts', { params }))).meta.total ?? 0;
  },
});

export function useUploadToken() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (file: File, key) => uploadFile<unknown>('/dep/stoken/upload', file, key),
    onSuccess: () =>
      Promise.all(
        ['dep_accounts', 'credentials'].map((name) =>
          queries.invalidateQueries({ queryKey: [name] }),
        ),
      ),
  });
}

const ENROLLED = {
  page: { size: 1 },
  fields: { devices: 'device_name' },
  'filter[]': ['{"name":"is_enrolled","op":"eq","val":true}'],
};

export const enrolledQuery = queryOptions({
  ...LIVE,
  queryKey: ['devices', 'enrolled'],
  queryFn: async () => {
    const params = { query: ENROLLED };
    return (await call(() => client.GET('/devices', { params }))).meta.total ?? 0;
  },
});

/** What each step asks, with the operation that one must be allowed to call. */
export const SET_UP_REQUESTS = [
  { step: 'address', operation: 'examineServer', path: pathOf('/doctor') },
  { step: 'push', operation: 'getCredentials', path: pathOf('/credentials') },
  {
    step: 'push',
    operation: 'createPushCertificate',
    path: pathOf('/certificate_signing_requests', PUSH_REQUEST),
  },
  { step: 'policy', operation: 'listEnrollmentLinks', path: pathOf('/enrollment_links', LINKS) },
  {
    step: 'organization',
    operation: 'getOrganization',
    path: pathOf('/configuration/organization'),
  },
  { step: 'dep', operation: 'listDepAccounts', path: pathOf('/dep/accounts', ACCOUNTS) },
  { step: 'lab', operation: 'listDevices', path: pathOf('/devices', ENROLLED) },
] as const;
