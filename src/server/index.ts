export { forwardedHeader, type HttpOptions, type HttpServer, infoPath, startHttp } from './http.ts'
export { counterDefinitions, metricDefinitions, metricsText, type ProfileFigures } from './metrics.ts'
