import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { IHTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute';
import type { IDeployment } from 'kubernetes-models/apps/v1/Deployment';
import type { IStatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import type { IJob } from 'kubernetes-models/batch/v1/Job';
import type { IIngress } from 'kubernetes-models/networking.k8s.io/v1/Ingress';
import type { INetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import type { IPodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import type { IConfigMap } from 'kubernetes-models/v1/ConfigMap';
import type { IContainer } from 'kubernetes-models/v1/Container';
import type { IPodTemplateSpec } from 'kubernetes-models/v1/PodTemplateSpec';
import type { ISecret } from 'kubernetes-models/v1/Secret';
import type { IService } from 'kubernetes-models/v1/Service';
import type { IServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { parseAllDocuments, parseDocument } from 'yaml';
import type { Document } from 'yaml';

const FOLDER = 'deploy/kubernetes';

/** A database of CloudNativePG, as far as it is looked into; no package brings its schema. */
interface Cluster {
  readonly metadata?: { readonly name?: string };
  readonly spec: {
    readonly bootstrap: Readonly<Record<string, Readonly<Record<string, string>>>>;
    readonly postgresql: { readonly parameters: Labels };
    readonly plugins: readonly [{ readonly name: string; readonly parameters: Labels }];
    readonly managed: { readonly roles: readonly Readonly<Record<string, unknown>>[] };
    readonly externalClusters?: readonly object[];
  };
}

/** The kinds that are looked into. */
interface Kinds {
  readonly Cluster: Cluster;
  readonly ConfigMap: IConfigMap;
  readonly Deployment: IDeployment;
  readonly HTTPRoute: IHTTPRoute;
  readonly HorizontalPodAutoscaler: IHorizontalPodAutoscaler;
  readonly Ingress: IIngress;
  readonly Job: IJob;
  readonly NetworkPolicy: INetworkPolicy;
  readonly PodDisruptionBudget: IPodDisruptionBudget;
  readonly Secret: ISecret;
  readonly Service: IService;
  readonly ServiceAccount: IServiceAccount;
  readonly StatefulSet: IStatefulSet;
}

export type Labels = Readonly<Record<string, string>>;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Labels;
  };
}

/** What an overlay becomes. */
export class Manifests {
  constructor(readonly all: readonly Manifest[]) {}

  list<Kind extends keyof Kinds>(kind: Kind): Kinds[Kind][] {
    return this.all.filter((manifest) => manifest.kind === kind) as unknown as Kinds[Kind][];
  }

  /** The only one of its kind whose name begins so. */
  one<Kind extends keyof Kinds>(kind: Kind, name = 'plant-store'): Kinds[Kind] {
    const [found, ...others] = this.list(kind).filter((manifest) =>
      manifest.metadata?.name?.startsWith(name),
    );
    if (found === undefined || others.length > 0) {
      throw new Error(`there is not one ${kind} ${name}, but ${others.length + (found ? 1 : 0)}`);
    }
    return found;
  }

  /** Everything that makes pods. */
  get templates(): { readonly name: string; readonly template: IPodTemplateSpec }[] {
    return (['Deployment', 'Job', 'StatefulSet'] as const).flatMap((kind) =>
      this.list(kind).map(({ metadata, spec }) => ({
        name: `${kind} ${metadata?.name}`,
        template: spec!.template,
      })),
    );
  }
}

/** Renders an overlay as `kubectl apply -k` does, after a change to its kustomization as an operator makes it. */
export async function render(
  overlay: string,
  change: (kustomization: Document) => void = () => {},
): Promise<Manifests> {
  const copy = await mkdtemp(join(tmpdir(), 'plant-store-kubernetes-'));
  try {
    await cp(FOLDER, copy, { recursive: true });
    const folder = join(copy, 'overlays', overlay);
    const file = join(folder, 'kustomization.yaml');
    const kustomization = parseDocument(await readFile(file, 'utf8'));
    change(kustomization);
    await writeFile(file, String(kustomization));
    return new Manifests(read(await kustomize(folder)));
  } finally {
    await rm(copy, { recursive: true });
  }
}

async function kustomize(folder: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('kustomize', ['build', folder]);
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error('these tests need kustomize: CONTRIBUTING.md, "Commands"', { cause: error });
  }
}

export function read(text: string): Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS({ reviver: joined }) as Manifest);
}

/** Base64 that Kustomize breaks into lines. The API server takes them, but its schema does not. */
function joined(_key: unknown, value: unknown): unknown {
  return typeof value === 'string' && /^[A-Za-z0-9+/=\n]+$/.test(value)
    ? value.replaceAll('\n', '')
    : value;
}

export function containerOf({ spec }: IPodTemplateSpec): IContainer {
  const [container, ...others] = spec?.containers ?? [];
  if (container === undefined || others.length > 0) throw new Error('there is not one container');
  return container;
}
