import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ActionError } from '../../api/action-error';
import { saveNewFile } from '../../api/files';
import { onlyFault } from '../../api/form-faults';
import { useMutation } from '../../api/mutation';
import { useMay } from '../../api/rights';
import { setUpText } from '../../text/set-up';
import { Button } from '../../ui/button';
import { FileField } from '../../ui/file-field';
import { useFaultFocus } from '../../ui/use-fault-focus';
import { depAccountsQuery, useUploadToken } from './queries';
import { Step } from './step';

const words = setUpText.dep;

export function DepStep() {
  const accounts = useQuery(depAccountsQuery);
  const mayUpload = useMay()('uploadDepToken');
  const count = accounts.data;
  const state = count === undefined ? undefined : count > 0 ? 'done' : 'optional';
  return (
    <Step title={words.title} why={words.why} state={state}>
      {count !== undefined && count > 0 && <p>{words.accounts(count)}</p>}
      {!mayUpload && <p className="soft">{setUpText.needsAdmin}</p>}
      {mayUpload && (
        <>
          <div className="set-up-pair">
            <CertificateDownload />
            <TokenUpload />
          </div>
          <p className="soft">{words.more}</p>
        </>
      )}
    </Step>
  );
}

function CertificateDownload() {
  const download = useMutation({
    mutationFn: (_: undefined, key) =>
      saveNewFile('/dep/certificate/download', 'muster-dep.pem', key),
  });
  return (
    <div className="set-up-part">
      <h3>{words.first}</h3>
      <div>
        <Button isPending={download.isPending} onPress={() => download.mutate(undefined)}>
          {words.certificate}
        </Button>
      </div>
      {download.error !== null && <ActionError error={download.error} />}
    </div>
  );
}

function TokenUpload() {
  const [file, setFile] = useState<File>();
  const upload = useUploadToken();
  const form = useFaultFocus(upload.error);
  const fault = onlyFault(upload.error, 'file');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (file !== undefined) upload.mutate(file);
  };
  return (
    <form ref={form} className="set-up-part" onSubmit={submit}>
      <h3>{words.second}</h3>
      <p>
        {words.page}{' '}
        <a href={words.url} target="_blank" rel="noreferrer">
          {words.url}
        </a>
      </p>
      <FileField label={words.file} accept=".p7m,.p7,.pem" onChange={setFile} error={fault} />
      {upload.error !== null && fault === undefined && <ActionError error={upload.error} />}
      <div>
        <Button type="submit" isDisabled={file === undefined} isPending={upload.isPending}>
          {words.upload}
        </Button>
      </div>
      <p role="status">{upload.isSuccess ? words.uploaded : ''}</p>
    </form>
  );
}
